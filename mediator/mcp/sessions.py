"""Tool calls over HTTP that wait for their result, over all exchanges of a run. No IO.

A result comes in the answer to its call, or on another stream: that of the same `Mcp-Session-Id`, or
(HTTP+SSE, 2024-11-05) the one that named the path to which the call was sent. A call waits under every key by
which its result may come; once it has come it waits under none.

Always: bounded. Of too many calls the oldest are forgotten: their results are in the record as bytes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mediator.held import Room

if TYPE_CHECKING:
    from mediator.mcp.jsonrpc import Id

MAX_WAITING: Final = 4096  # calls whose result has not come; agents have some dozen
MAX_LOOKED_AT: Final = 64 << 20  # bytes of answers that are held to be read, over all exchanges

type Key = tuple[str, str, str]
"""A server, a kind of key, and the value."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One call of one exchange."""

    exchange: int
    tool: str
    id: Id
    keys: tuple[Key, ...]


class Sessions:
    """One run's. Only used in the mediator's thread."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[Key, Id], Waiting] = {}
        self.room = Room(MAX_LOOKED_AT)

    def ask(self, call: Waiting) -> None:
        """Let a call wait."""
        for key in call.keys:
            self._waiting.pop((key, call.id), None)
            self._waiting[key, call.id] = call
        while len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]

    def answer(self, keys: tuple[Key, ...], number: Id) -> Waiting | None:
        """Return the call that an answer with this id on a stream with these keys belongs to."""
        for key in keys:
            call = self._waiting.get((key, number))
            if call is not None:
                for other in call.keys:
                    if self._waiting.get((other, number)) is call:
                        del self._waiting[other, number]
                return call
        return None
