"""Branch points that are no answer over HTTP: what the other side says in a conversation, and tool calls.

What always holds: a remark is one event of a message, or of bytes of raw TCP; a tool's call and its result
over stdio name the message that they were read from. What no fork can go live at has the reason with it. Any
events give remarks or none.

Not done here: exchanges, which are `hark.patch.where`.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hark.bundle.events import (
    STREAM,
    McpMessage,
    ToolCallRequest,
    ToolCallResult,
    TunnelData,
    WebSocketMessage,
)
from hark.replay.conversing import lane_of
from hark.replay.talks import MCP, PUBLISHED, TUNNEL, WEBSOCKET
from hark.visible import visible

if TYPE_CHECKING:
    from hark.replay.recorded import Frame

_DATA: Final = ("text", "binary")


@dataclass(slots=True)
class Remark:
    """One message, or some bytes."""

    seq: int
    kind: str
    """Of which lane (`hark.replay.talks`)."""
    words: str
    from_agent: bool
    why_not: str = ""
    """Why a fork cannot go live at it."""
    exchange: int = 0
    """Of a WebSocket."""
    call: int | None = None
    """The event of the tool call in it, the last of several."""
    about: "Remark | None" = None
    """The call that a result answers, or the result of a call."""

    @property
    def named(self) -> str:
        """Name it with its event."""
        return f"{self.words} (event {self.seq})"


@dataclass(slots=True)
class Spoken:
    """The remarks of a run, of which one is asked for by the number of an event."""

    wanted: int | None
    named: Callable[[int], str]
    """MUST name the request of an exchange."""
    found: Remark | None = None
    calls: dict[str, list[Remark]] = field(default_factory=lambda: defaultdict(list))
    """The tool calls over stdio, by `mcp.SERVER/TOOL`."""
    _last: dict[str, Remark] = field(default_factory=dict)
    """Of each tool server, the last message."""
    _open: dict[int, Remark] = field(default_factory=dict)
    """Calls without a result, by the number of their exchange."""
    _places: dict[int, str] = field(default_factory=dict)
    """Of raw connections."""
    _unfinished: set[tuple[int, bool]] = field(default_factory=set)
    """WebSockets in which somebody is in the middle of a message."""

    def add(self, frame: "Frame") -> None:
        """Take an event."""
        event: Any = frame.event
        match event:
            case McpMessage():
                self._message(frame.seq, event)
            case ToolCallRequest() if event.server in self._last:
                self._called(frame.seq, event)
            case ToolCallResult() if event.exchange in self._open:
                self._answered(frame.seq, event)
            case WebSocketMessage():
                self._in_websocket(frame.seq, event)
            case TunnelData():
                self._bytes(frame.seq, event)
            case _:
                pass

    def _message(self, seq: int, event: McpMessage) -> None:
        remark = Remark(seq, MCP, f"a message of mcp.{visible(event.server)}", event.from_agent)
        if event.from_agent:
            remark.words = f"the agent's message to mcp.{visible(event.server)}"
            remark.why_not = "of what an agent says to a tool server, calls of tools alone can be asked live"
        if event.note:
            remark.why_not = "it was not passed on, so there is nothing that could be another"
        self._last[event.server] = remark
        self._take(seq, remark)

    def _called(self, seq: int, event: ToolCallRequest) -> None:
        remark = self._last[event.server]
        if not remark.from_agent:
            return
        tool = f"mcp.{visible(event.server)}/{visible(event.tool)}"
        if remark.call is None:
            remark.words = f"the call of {tool}"
            self.calls[f"mcp.{event.server}/{event.tool}"].append(remark)
        if not remark.why_not.startswith("it was not passed"):
            remark.why_not = ""
        remark.call = seq
        self._open[event.exchange] = remark
        self._take(seq, remark)

    def _answered(self, seq: int, event: ToolCallResult) -> None:
        call, remark = self._open.pop(event.exchange), self._last[event.server]
        if remark.from_agent:
            return  # hark's own refusal
        remark.words = f"the result of mcp.{visible(event.server)}/{visible(event.tool)}"
        remark.about, call.about = call, remark
        self._take(seq, remark)

    def _in_websocket(self, seq: int, event: WebSocketMessage) -> None:
        way = (event.exchange, event.from_agent)
        is_piece = event.more or way in self._unfinished
        if event.type in _DATA:
            (self._unfinished.add if event.more else self._unfinished.discard)(way)
        if seq != self.wanted:
            return
        whose = "the agent's" if event.from_agent else "the server's"
        words = f"{whose} message in the WebSocket {self.named(event.exchange)}"
        remark = Remark(seq, WEBSOCKET, words, event.from_agent, exchange=event.exchange)
        if event.from_agent:
            remark.why_not = "no server can be asked in the middle of a WebSocket"
        elif event.type == STREAM:
            remark.why_not = "an upgraded connection passes unread"
        elif event.type not in _DATA:
            remark.why_not = f"it is a {visible(event.type)}, and no message"
        elif is_piece:
            remark.why_not = "it is a piece of a message, which came in several"
        self._take(seq, remark)

    def _bytes(self, seq: int, event: TunnelData) -> None:
        if event.host:
            self._places[event.exchange] = event.host
        if seq != self.wanted:
            return
        place = self._places.get(event.exchange, "")
        words = (
            f"what {'the agent' if event.from_agent else 'the server'} says in raw TCP to {visible(place)}"
        )
        remark = Remark(seq, TUNNEL, words, event.from_agent)
        if lane_of(place)[0] == PUBLISHED:
            remark.words, remark.why_not = (
                f"bytes of {visible(place)}",
                "who calls a published port is no server",
            )
        elif event.from_agent:
            remark.why_not = "no server can be asked in the middle of a raw connection"
        elif not event.data:
            remark.why_not = "nothing was said there"
        self._take(seq, remark)

    def _take(self, seq: int, remark: Remark) -> None:
        if seq == self.wanted:
            self.found = remark
