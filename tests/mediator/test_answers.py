"""Of a server's head the words behind the status do not pass, and a head that is none of HTTP not at all."""

import pytest
from mitmproxy import http

from mediator import answers


def response(status: int = 200, version: bytes = b"HTTP/1.1", *headers: tuple[bytes, bytes]) -> http.Response:
    return http.Response(version, status, b"sk-real-5e88", headers, None, None, 0, None)


@pytest.mark.parametrize(("status", "words"), [(200, "OK"), (404, "Not Found"), (599, ""), (999, "")])
def test_the_words_are_the_standards(status: int, words: str) -> None:
    answer = response(status)
    assert answers.unfit(answer) == ""
    answers.standardise(answer)
    assert answer.reason == words


@pytest.mark.parametrize(
    "answer",
    [
        response(101),
        response(100),
        response(199),
        response(0),
        response(-200),
        response(1000),
        response(200, b"HTTP/7.3"),
        response(200, b"HTTP/1.1", (b"Content-Length", b"1"), (b"Content-Length", b"2")),
        response(200, b"HTTP/2.0", (b"x", b"a\r\nb: c")),
    ],
)
def test_another_head_is_unfit(answer: http.Response) -> None:
    assert answers.unfit(answer) != ""


def test_what_is_said_of_an_answer_quotes_nothing_of_it() -> None:
    assert answers.calm("Bad line: b'secret'.") == "bad line"
    assert answers.calm("stream reset by client (CANCEL)") == "stream reset by the server (cancel)"
    page = answers.page(502, b"words", close=True)
    assert (page.status_code, page.content, page.headers["connection"]) == (502, b"words", "close")


def asked(version: bytes) -> http.Request:
    return http.Request("", 0, b"GET", b"https", b"", b"/", version, (), None, None, 0, None)


@pytest.mark.parametrize(
    ("version", "left"),
    [
        (b"HTTP/1.1", {b"transfer-encoding": b"chunked"}),
        (b"HTTP/1.0", {b"connection": b"close"}),
        (b"HTTP/2.0", {}),
    ],
)
def test_an_answer_that_changes_on_the_way_no_longer_says_how_long_it_was(
    version: bytes, left: dict[bytes, bytes]
) -> None:
    answer = response(200, b"HTTP/1.1", (b"Content-Length", b"5"))
    answers.reframe(answer, asked(version))
    assert dict(answer.headers.fields) == left


def test_trailers_that_belong_into_a_head_do_not_pass() -> None:
    fields = ((b"Set-Cookie", b"a"), (b"X-Sum", b"1"), (b"X", b"a\r\nb"))
    assert answers.passed_trailers(fields) == ((b"X-Sum", b"1"),)
