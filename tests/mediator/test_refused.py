"""A refused plain HTTP request is on the record with what was in it; what is none adds nothing."""

import pytest

from hark.bundle.events import LlmRequest, LlmResponseChunk, LlmResponseEnd
from hark.policy.decide import Deny
from mediator import refused
from mediator.authority import Destination
from mediator.ledger import Ledger
from mediator.transcript import Transcript
from tests.fakes.recorder import ListRecorder

TARGET = Destination("203.0.113.9", 80)
DENIED = Deny("address 203.0.113.9 is not in allow_hosts", "203.0.113.9:80")
LINE = b"POST /register?k=v HTTP/1.1\r\nHost: 203.0.113.9\r\n"
HEAD = LINE + b"X-Api-Key: sk-harkPLACEHOLDER\r\nA: 1\r\nA: 2\r\n\r\n"


def recorded(head: bytes) -> ListRecorder:
    recorder = ListRecorder()
    book = Ledger(recorder, lambda _: None, lambda: 0.0)
    refused.record(Transcript(book, lambda: 7), TARGET, head, b"hark: no\n", DENIED)
    return recorder


def test_the_record_holds_what_the_agent_wanted_to_send_and_what_it_got() -> None:
    recorder = recorded(HEAD + b"the body")
    (request,) = recorder.of(LlmRequest)
    (chunk,) = recorder.of(LlmResponseChunk)
    (end,) = recorder.of(LlmResponseEnd)
    assert (request.host, request.method, request.path) == ("203.0.113.9", "POST", "/register?k=v")
    assert (b"X-Api-Key", b"sk-harkPLACEHOLDER") in request.raw_headers
    assert [value for name, value in request.raw_headers if name == b"A"] == [b"1", b"2"]
    assert request.body == b""
    assert chunk.data == b"hark: no\n"
    assert (end.status, end.error) == (403, f"refused: {DENIED.reason}")
    assert request.exchange == chunk.exchange == end.exchange == 1


def test_an_answer_to_head_has_no_body() -> None:
    recorder = recorded(HEAD.replace(b"POST", b"HEAD"))
    assert recorder.of(LlmResponseChunk) == []
    assert len(recorder.of(LlmResponseEnd)) == 1


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET",
        HEAD[:-2],
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        b"GET /" + b"a" * (2 * refused.MAX_HEAD) + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01" * 100,
    ],
)
def test_what_is_no_request_adds_nothing_and_raises_nothing(head: bytes) -> None:
    assert recorded(head).events == []
