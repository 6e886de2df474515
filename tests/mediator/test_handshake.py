"""A WebSocket's handshake: what leaves offers no extension, and what comes back belongs to what was asked."""

import pytest

from mediator import handshake

KEY = b"dGhlIHNhbXBsZSBub25jZQ=="  # RFC 6455, 1.3
ACCEPT = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
ASKED = (
    (b"Host", b"api.example.test"),
    (b"Connection", b"keep-alive, Upgrade"),
    (b"Upgrade", b"websocket"),
    (b"Sec-WebSocket-Key", KEY),
    (b"Sec-WebSocket-Version", b"13"),
    (b"Sec-WebSocket-Protocol", b"realtime, v2"),
    (b"Sec-WebSocket-Extensions", b"permessage-deflate; client_max_window_bits"),
)
ANSWER = ((b"upgrade", b"WebSocket"), (b"connection", b"Upgrade"), (b"sec-websocket-accept", ACCEPT))


def changed(name: bytes, *values: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return (*(field for field in ASKED if field[0] != name), *((name, value) for value in values))


def test_a_proper_request_is_forwarded_without_extensions() -> None:
    assert handshake.wanted(ASKED)
    assert handshake.asked_wrong(b"GET", ASKED) == ""
    sent = handshake.forwarded(ASKED)
    assert dict(sent)[b"Connection"] == b"Upgrade"
    assert not any(name.lower() == b"sec-websocket-extensions" for name, _ in sent)
    assert (b"Sec-WebSocket-Protocol", b"realtime, v2") in sent


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        (b"POST", ASKED),
        (b"GET", changed(b"Connection", b"close")),
        (b"GET", changed(b"Upgrade", b"websocket, h2c")),
        (b"GET", changed(b"Sec-WebSocket-Version", b"8")),
        (b"GET", changed(b"Sec-WebSocket-Version", b"13", b"8")),
        (b"GET", changed(b"Sec-WebSocket-Key")),
        (b"GET", changed(b"Sec-WebSocket-Key", KEY, KEY)),
        (b"GET", changed(b"Sec-WebSocket-Key", b"short")),
        (b"GET", changed(b"Content-Length", b"5")),
        (b"GET", changed(b"Transfer-Encoding", b"chunked")),
    ],
)
def test_another_request_is_not(method: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    assert handshake.asked_wrong(method, headers) != ""


def test_an_answer_that_belongs_to_the_request_is_taken() -> None:
    assert handshake.answer_wrong(ASKED, ANSWER) == ""
    assert handshake.answer_wrong(ASKED, (*ANSWER, (b"Sec-WebSocket-Protocol", b"v2"))) == ""


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ANSWER[1:], "another protocol"),
        (ANSWER[:1] + ANSWER[2:], "another protocol"),
        (ANSWER[:2], "Accept"),
        ((*ANSWER[:2], (b"sec-websocket-accept", b"x")), "Accept"),
        ((*ANSWER, (b"sec-websocket-extensions", b"permessage-deflate")), "extension"),
        ((*ANSWER, (b"sec-websocket-protocol", b"v3")), "subprotocol"),
        ((*ANSWER, (b"sec-websocket-protocol", b"v2"), (b"sec-websocket-protocol", b"v2")), "subprotocol"),
    ],
)
def test_another_answer_is_not(answer: tuple[tuple[bytes, bytes], ...], words: str) -> None:
    assert words in handshake.answer_wrong(ASKED, answer)
