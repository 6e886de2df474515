"""Tool calls over HTTP that wait for their result, over all exchanges of a run. No IO.

A result comes in the answer to its call, or on another stream: that of the same `Mcp-Session-Id`, or
(HTTP+SSE, 2024-11-05) the one that named the path to which the call was sent. A call waits under every key by
which its result may come; once it has come it waits under none.

Always: bounded. Of too many calls the oldest are forgotten: their results are in the record as bytes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from mediator.held import Room

if TYPE_CHECKING:
    from mediator.mcp.jsonrpc import Id
    from mediator.transcript import Headers

SESSION: Final = b"mcp-session-id"

MAX_WAITING: Final = 4096  # calls whose result has not come; agents have some dozen
MAX_BEGUN: Final = 4096  # sessions that a fork may end; agents hold a handful
MAX_LOOKED_AT: Final = 64 << 20  # bytes of answers that are held to be read, over all exchanges

type Key = tuple[str, str, str]
"""A server, a kind of key, and the value."""


def key_of(place: str, kind: str, *values: bytes) -> Key:
    """Return a key whose size does not depend on what anybody wrote."""
    return (place, kind, blake3(b"\n".join(values)).hexdigest())


def session_at(place: str, path: bytes, headers: Headers) -> Key | None:
    """Return the session that headers name, at the path where it was begun; None where they name none."""
    named = [value for name, value in headers if name.lower() == SESSION]
    return key_of(place, "begun", path, named[0]) if len(named) == 1 and named[0] else None


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
        self._begun: dict[Key, None] = {}
        self.room = Room(MAX_LOOKED_AT)

    def begin(self, session: Key) -> None:
        """Take that a server began a session."""
        self._begun[session] = None
        if len(self._begun) > MAX_BEGUN:
            del self._begun[next(iter(self._begun))]

    def has_begun(self, session: Key) -> bool:
        """Tell whether a server began a session in this run."""
        return session in self._begun

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
