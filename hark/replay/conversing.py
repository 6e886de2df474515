"""Reads what of a recording is no HTTP: raw connections, published ports, tool servers, WebSockets. No IO.

Always: what was ended from outside (a server, a rule) is a part that comes in; what the agent ended is its
act; what the end of the run ended is neither. What hark wrote itself is not kept: a replay writes it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hark.bundle.events import (
    AGENT_LEFT,
    REFUSED,
    RUN_ENDED,
    STREAM,
    McpMessage,
    TunnelData,
    WebSocketMessage,
)
from hark.replay.exchanges import Messages
from hark.replay.marks import Marks
from hark.replay.pieces import Action, Called, Data, End, Failed, Part, Piece, Withheld
from hark.replay.talks import MCP, PUBLISHED, TUNNEL, UPGRADED, WEBSOCKET, Lane, Talk, by_value, message
from hark.replay.treatment import KEEP_ALIVE
from hark.replay.treatment import PUBLISHED as LEFT_OUT

if TYPE_CHECKING:
    from hark.replay.recorded import Frame

BY_AGENT: Final = ("the agent reset", "the agent was lost", AGENT_LEFT)
"""How the reason begins where the agent's side ended a connection out of order."""
BY_THE_OTHER_WAY: Final = ("the other direction was refused", RUN_ENDED)
_AGENTS_FAULT: Final = ("a message of the agent's", "the agent's last message")

type Act = Callable[[Frame, str], Action]
"""MUST note an act of the agent's that later parts wait for."""


class Conversing:
    """A recording's conversations, while it is read."""

    def __init__(self, marks: Marks, act: Act) -> None:
        self.talks: list[Talk] = []
        self.calls: list[tuple[Part, Talk]] = []
        """When the operator's side connected to a published port."""
        self._marks = marks
        self._act = act
        self._open: dict[int, Talk] = {}
        self._messages: dict[int, Messages] = {}

    def tunnel(self, frame: Frame, event: TunnelData) -> None:
        """Read an event of a raw connection."""
        talk = self._open.get(event.exchange)
        if talk is None:
            self._tunnel_began(frame, event)
            return
        if event.from_agent and event.data and not event.error.startswith(REFUSED):
            start = len(talk.said)
            talk.said += event.data
            self._said(frame, talk, f"bytes {start} to {len(talk.said)} of what the agent says in {talk}")
        elif event.data and not event.from_agent:
            talk.parts.append(_part(frame, Data(event.data)))
        if event.end and event.from_agent:
            self._agents_end(frame, talk, event.error)
        elif event.end:
            self._servers_end(frame, talk, event.error)

    def mcp(self, frame: Frame, event: McpMessage) -> None:
        """Read a message between the agent and a tool server, or the end of their connection."""
        talk = self._open.get(event.connection)
        if talk is None:
            talk = self._begin(event.connection, (MCP, event.server), frame)
        if event.data and event.from_agent:
            talk.said += message(event, "", by_value(event.data, self._marks))
            self._said(frame, talk, f"a message of the agent's in {talk}")
        elif event.data:
            if not event.note:
                talk.parts.append(_part(frame, Data(event.data)))
        elif event.note.startswith(BY_AGENT):
            talk.hushed = self._act(frame, f"the agent's going away from {talk}")
        elif not event.note:
            talk.parts.append(_part(frame, End()))
        elif not event.note.startswith((*BY_THE_OTHER_WAY, *_AGENTS_FAULT)):
            talk.parts.append(_part(frame, Failed(event.note)))

    def websocket(self, exchange: int, frame: Frame, words: str, *, raw: bool = False) -> Talk:
        """Return the conversation of an exchange that became a WebSocket, or a `raw` stream."""
        talk = self._open.get(exchange)
        if talk is None:
            self._messages[exchange] = Messages(lambda data: by_value(data, self._marks))
            talk = self._begin(exchange, (UPGRADED if raw else WEBSOCKET, words, str(exchange)), frame)
        return talk

    def said(self, frame: Frame, event: WebSocketMessage, talk: Talk) -> None:
        """Read a message of the agent's in a WebSocket, or what it says in a raw stream."""
        if event.type == STREAM:
            self._streamed(frame, event, talk)
            return
        whole = self._messages[event.exchange].add(frame.seq, event)
        if whole is not None:
            talk.said += message(event, *whole[1:])
            self._said(frame, talk, f"a message of the agent's in {talk}")

    def _streamed(self, frame: Frame, event: WebSocketMessage, talk: Talk) -> None:
        start = len(talk.said)
        talk.said += event.data
        if event.data:
            self._said(frame, talk, f"bytes {start} to {len(talk.said)} of what the agent says in {talk}")
        if not event.more:
            talk.hushed = self._act(frame, f"the end of what the agent says in {talk}")

    def _tunnel_began(self, frame: Frame, event: TunnelData) -> None:
        if not event.host:
            return
        talk = self._begin(event.exchange, lane_of(event.host), frame)
        if talk.lane[0] == PUBLISHED:
            talk.port = port_of(event.host)
            self.calls.append((_part(frame, Called(talk.port)), talk))
        else:
            self._said(frame, talk, str(talk))

    def _begin(self, number: int, lane: Lane, frame: Frame) -> Talk:
        self._open[number] = talk = Talk(lane, frame.seq)
        self.talks.append(talk)
        return talk

    def _said(self, frame: Frame, talk: Talk, words: str) -> None:
        talk.acts.append((len(talk.said), self._act(frame, words)))

    def _agents_end(self, frame: Frame, talk: Talk, error: str) -> None:
        if not error or error.startswith((REFUSED, *BY_AGENT)):
            talk.hushed = self._act(frame, f"the end of what the agent says in {talk}")
        elif not error.startswith(BY_THE_OTHER_WAY):
            talk.parts.append(_part(frame, Failed(error)))

    def _servers_end(self, frame: Frame, talk: Talk, error: str) -> None:
        if not error:
            talk.parts.append(_part(frame, End()))
        elif error.startswith((*BY_THE_OTHER_WAY, *BY_AGENT)):
            talk.parts.append(_part(frame, Withheld(error)))
        elif not talk.is_cut:
            talk.parts.append(_part(frame, Failed(error)))


def lane_of(host: str) -> Lane:
    """Return the lane of a raw connection by what its first event has."""
    return (PUBLISHED if host.startswith(tuple(LEFT_OUT.covers)) else TUNNEL, host)


def port_of(host: str) -> int:
    """Return the published port that is named; 0 where it is none."""
    words = host.split(" ")
    number = words[2] if len(words) > 2 else ""
    return int(number) if number.isascii() and number.isdigit() else 0


def is_kept(event: WebSocketMessage) -> bool:
    """Tell whether a server's message is played back: a pong answers a ping, and is made when one comes."""
    return event.type != "pong"


def is_compared(event: WebSocketMessage) -> bool:
    """Tell whether a message of the agent's is one that others wait for (rule `keep-alive`)."""
    return event.type not in KEEP_ALIVE.covers


def _part(frame: Frame, piece: Piece) -> Part:
    return Part(frame.seq, frame.time_ns, piece)
