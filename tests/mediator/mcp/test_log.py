"""What a connection puts on the record."""

import time

from hark.bundle.events import McpMessage, ToolCallRequest, ToolCallResult
from mediator.ledger import Ledger
from mediator.mcp.log import Log
from mediator.mcp.talk import Answered, Asked
from tests.fakes.recorder import ListRecorder


def test_messages_are_numbered_and_the_end_has_no_data() -> None:
    recorder = ListRecorder()
    log = Log("db", Ledger(recorder, lambda _: None, time.monotonic))
    log.message(b"{}", from_agent=True)
    log.message(b"[]", from_agent=True, note="refused: no")
    log.call(Asked(5, "t", b"{}"))
    log.answered(Answered(Asked(5, "t", b"{}"), b"1", is_error=True))
    log.end("gone")
    assert recorder.events == [
        McpMessage("db", 1, 0, from_agent=True, data=b"{}"),
        McpMessage("db", 1, 1, from_agent=True, data=b"[]", note="refused: no"),
        ToolCallRequest("db", "t", b"{}", exchange=5),
        ToolCallResult("db", "t", b"1", is_error=True, exchange=5),
        McpMessage("db", 1, 2, from_agent=False, note="gone"),
    ]


def test_after_a_failure_the_end_is_not_tried_again() -> None:
    recorder = ListRecorder()
    ledger = Ledger(recorder, lambda _: None, time.monotonic)
    log = Log("db", ledger)
    ledger.fail("disk full")
    log.end("gone")
    assert recorder.events == []
