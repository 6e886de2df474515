"""Keep a credential off the record that is cut in two by the border of two events. No IO.

Always: what the record holds of one stream (a body, one direction of a tunnel, a message in pieces) is
searched across every border, before the event behind the border is recorded. Inside an event the recorder's
guard searches (`Broker.guard`); so the file as a whole need not be searched again when it is sealed.

Memory is the longest form of a credential for each stream that is under way, and `KEPT` at least: half of a
credential may be on record already when it is minted.
"""

from typing import Final

from hark.bundle.events import (
    Event,
    Input,
    LlmRequest,
    LlmResponseChunk,
    LlmResponseEnd,
    RequestChunk,
    TunnelData,
    WebSocketMessage,
)
from mediator.credentials import Broker

KEPT: Final = 4096  # bytes: a token has some hundred, and some thousand in its widest spelling

INPUT: Final = 0
"""Stands for an exchange's number, which count from 1."""

type Way = tuple[bool, str]
"""Whether from the agent, and the kind of piece: a control frame may stand inside a message."""


class Borders:
    """Remembers what came last in each stream."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._open: dict[int, dict[Way, bytes]] = {}
        """By exchange and way: what came last."""

    def check(self, event: Event) -> None:
        """Look across the border before `event`. Raises RecordError where a real value lies across it."""
        match event:
            case LlmRequest():
                self._piece(event.exchange, (True, "body"), event.body, more=True)
            case RequestChunk():
                self._piece(event.exchange, (True, "body"), event.data, more=not event.last)
            case LlmResponseChunk():
                self._piece(event.exchange, (False, "body"), event.data, more=True)
            case WebSocketMessage():
                self._piece(event.exchange, (event.from_agent, event.type), event.data, more=event.more)
            case TunnelData():
                self._piece(event.exchange, (event.from_agent, "tcp"), event.data, more=not event.end)
            case Input():
                self._piece(INPUT, (False, event.source), event.data, more=not event.end)
            case LlmResponseEnd():
                self._open.pop(event.exchange, None)
            case _:
                pass

    def _piece(self, exchange: int, way: Way, data: bytes, *, more: bool) -> None:
        ways = self._open.setdefault(exchange, {})
        before = ways.pop(way, b"")
        overlap = max(KEPT, self._broker.longest)
        if before and data and self._broker.holds_any:
            self._broker.guard(before + data[:overlap])
        if more and (data or before):
            ways[way] = (before + data[-overlap:])[-overlap:]
        elif not ways:
            del self._open[exchange]
