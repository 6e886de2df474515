"""What is fixed for one connection, in the words of the record."""

from dataclasses import replace

from tests.mediator.rig import link_to


def test_the_record_gets_words_for_what_is_fixed() -> None:
    secure = replace(link_to(), sni=b"api.example.test\xff")
    assert (secure.protocol, secure.sni_text) == ("https", "api.example.test\\xff")
    plain = replace(link_to(), tls=False)
    assert (plain.protocol, plain.sni_text) == ("http", "")
