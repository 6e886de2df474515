"""An answer in a character set that cannot be searched is not passed, and a request asks for none."""

from dataclasses import replace

import pytest

from mediator.charsets import check_charset, without_charset
from mediator.codings import PackedError
from mediator.credentials import Broker
from mediator.echo import answer_body
from mediator.forwarding import forwarded
from tests.mediator.rig import API_TARGET, link_to
from tests.mediator.test_echo import BROKER


def said(charset: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"Content-Type", b"text/plain; charset=" + charset),)


@pytest.mark.parametrize(
    "charset", [b"IBM037", b'"ibm500"', b"CP1047", b"utf-7", b"x-ebcdic-us", b"scsu", b"'IBM037'"]
)
def test_what_is_not_ascii_underneath_is_not_passed_while_a_credential_is_held(charset: bytes) -> None:
    with pytest.raises(PackedError, match="could not search"):
        answer_body(BROKER, said(charset), API_TARGET)
    with pytest.raises(PackedError):
        check_charset((*said(b"utf-8"), *said(charset)))
    with pytest.raises(PackedError):
        check_charset(((b"content-type", b"text/plain;charset=utf-8;CHARSET = " + charset),))


@pytest.mark.parametrize(
    "charset",
    [
        b"",
        *b"""utf-8 "UTF-8" us-ascii ISO-8859-15 latin1 windows-1252 cp1251 utf-16le UTF-16 utf-32be gbk
    GB18030 big5 Shift_JIS euc-kr iso-2022-jp koi8-r utf8mb4""".split(),
    ],
)
def test_the_control_what_the_web_is_written_in_passes(charset: bytes) -> None:
    assert answer_body(BROKER, said(charset), API_TARGET) is not None
    check_charset(((b"Content-Type", b"text/html"), (b"X", b"charset=ibm037")))


def test_a_request_to_a_host_with_a_credential_names_no_character_set() -> None:
    accept = (b"Accept", b'text/plain;charset=IBM037;q=0.5, */*; Charset="x,y"')
    wanted = (accept, (b"Accept-Charset", b"IBM037"))
    assert forwarded(b"/", wanted, link_to()) == ((b"Accept", b"text/plain;q=0.5, */*"),)
    assert forwarded(b"/", wanted, replace(link_to(), broker=Broker([]))) == wanted


@pytest.mark.parametrize("value", [b"*/*", b"text/html;level=1, application/json;q=0.8", b"a/b;charsets=1"])
def test_the_control_other_words_of_it_stay(value: bytes) -> None:
    assert without_charset(value) == value


@pytest.mark.parametrize(
    "value", [b"charset" + b" " * 8_000_000 + b"b", b"charset" + b"; " * 4_000_000, b";charset " * 900_000]
)
def test_a_header_of_blanks_is_read_in_one_pass(value: bytes) -> None:
    """Squared, eight million are days."""
    assert without_charset(value) == value
    check_charset(((b"Content-Type", value),))
