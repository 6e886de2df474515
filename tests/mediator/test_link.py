"""What is fixed for one connection, in the words of the record."""

from dataclasses import replace

from tests.mediator.test_judgement import link


def test_the_record_gets_words_for_what_is_fixed() -> None:
    secure = replace(link(), sni=b"api.example.test\xff")
    assert (secure.protocol, secure.sni_text) == ("https", "api.example.test\\xff")
    plain = link(tls=False)
    assert (plain.protocol, plain.sni_text) == ("http", "")
