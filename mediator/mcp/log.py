"""What one connection to a tool server puts on the record. No IO but the ledger's.

Always: messages are numbered in the order in which they were passed on, both ways together; a call and its
result share the number of an exchange that is theirs alone.
"""

from typing import Final

from hark.bundle.events import McpMessage, ToolCallRequest, ToolCallResult
from mediator.callers import CALLER
from mediator.ledger import Ledger
from mediator.mcp.talk import Answered, Asked

BY_HARK: Final = "answered by hark"


class Log:
    """One connection's. Every method raises RecordError where it cannot record."""

    def __init__(self, server: str, ledger: Ledger) -> None:
        self._server = server
        self._ledger = ledger
        self.connection = ledger.next_exchange()
        """The number by which its messages are told from those of others."""
        self._seq = 0
        self._process = CALLER.get().pid

    def message(self, data: bytes, *, from_agent: bool, note: str = "") -> None:
        """Record a message. One with a note was not passed on, or is hark's own."""
        event = McpMessage(
            server=self._server,
            connection=self.connection,
            seq=self._seq,
            from_agent=from_agent,
            data=data,
            note=note,
            process=self._process,
        )
        self._ledger.append(event)
        self._seq += 1

    def end(self, why: str) -> None:
        """Record the end, unless nothing is recorded any more."""
        if self._ledger.fatal is None:
            self.message(b"", from_agent=False, note=why)

    def call(self, asked: Asked) -> None:
        """Record a tool call."""
        self._ledger.append(
            ToolCallRequest(
                server=self._server, tool=asked.tool, arguments=asked.arguments, exchange=asked.exchange
            )
        )

    def answered(self, answer: Answered) -> None:
        """Record what a call came to."""
        self._ledger.append(
            ToolCallResult(
                server=self._server,
                tool=answer.asked.tool,
                result=answer.result,
                is_error=answer.is_error,
                exchange=answer.asked.exchange,
            )
        )
