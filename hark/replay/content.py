"""One action in full: what its parts are hashes of, gathered by reading a run's events again.

What always holds: of each body `MAX_HELD` bytes at most are held, and it is said where there were more; any
events give a value. It is read once for each side of a divergence, and not for every action.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.replay import treatment
from hark.replay.actions import PROGRAMS, Action, Frames
from hark.replay.canonical import MAX_HELD, NO_RULES, Canonical, Gathering, Rules
from hark.replay.exchanges import answered_headers
from hark.replay.headers import Fields
from hark.replay.talks import counting

_OF_MESSAGES: Final = frozenset((treatment.WEBSOCKET, treatment.MCP))


@dataclass(slots=True)
class Content:
    """What an action was, as far as it is of its kind."""

    request: Canonical | None = None
    status: int = 0
    headers: Fields = ()
    trailers: Fields = ()
    request_trailers: Fields = ()
    data: bytearray = field(default_factory=bytearray)
    """The body of an answer, a message, the bytes of a tunnel, or what a tool was given or gave."""
    cut: bool = False
    """Whether `data` is not all."""
    words: str = ""
    """What there is of it in words: an error, an outcome, a hash."""

    def take(self, more: bytes) -> None:
        """Hold more bytes, as long as there is room."""
        room = MAX_HELD - len(self.data)
        self.data += more[:room]
        self.cut = self.cut or len(more) > room


def content(frames: Frames, action: Action, rules: Rules = NO_RULES, *, asked: bool = True) -> Content:
    """Return an action's content. `frames` are all of its run's; what was asked only if `asked`."""
    found = Content()
    kind = action.stream.partition(" ")[0]
    if kind == treatment.REQUEST:
        _exchange(frames, action, rules, found, asked=asked)
    elif kind == treatment.WEBSOCKET:
        _message(frames, action, found)
    elif kind == treatment.TUNNEL:
        _tunnel(frames, action, found)
    else:
        for seq, _, event in frames:
            if seq == action.seq:
                _single(event, action, found)
                break
    if kind in _OF_MESSAGES and rules.marks.ignored:
        found.data[:] = counting(bytes(found.data), rules.marks.ignored)
    elif kind == treatment.TOOL and rules.marks.ignored_arguments and action.parts[0][0] == "arguments":
        found.data[:] = counting(bytes(found.data), rules.marks.ignored_arguments)
    if rules.undo is not None:
        found.data[:] = rules.undo(bytes(found.data))
        found.headers = rules.marks.on_fields(found.headers)
    return found


def _exchange(frames: Frames, action: Action, rules: Rules, found: Content, *, asked: bool) -> None:
    gathering: Gathering | None = None
    for seq, _, event in frames:
        if seq < action.seq or getattr(event, "exchange", 0) != action.exchange:
            continue
        match event:
            case ev.LlmRequest() if seq == action.seq:
                gathering = Gathering(event)
            case ev.LlmRequest():
                break  # a number that stands for two exchanges
            case ev.RequestChunk() if gathering is not None:
                gathering.add(event)
            case ev.BodyHash(from_agent=True) if gathering is not None:
                gathering.add(event)
            case ev.Trailers(from_agent=True):
                found.request_trailers = answered_headers(event.raw_headers)
            case ev.Trailers():
                found.trailers = answered_headers(event.raw_headers)
            case ev.LlmResponseChunk():
                found.take(event.data)
            case ev.LlmResponseEnd():
                found.status, found.words = event.status, event.error
                found.headers = answered_headers(event.raw_headers)
                break
            case _:
                pass
    found.request = gathering.canonical(rules) if asked and gathering is not None else None


def _message(frames: Frames, action: Action, found: Content) -> None:
    for event in _side_of(frames, action):
        if not isinstance(event, ev.WebSocketMessage):
            continue
        found.words = found.words or event.type
        if event.type == found.words:
            found.take(event.data)
            if not event.more:
                return


def _tunnel(frames: Frames, action: Action, found: Content) -> None:
    for event in _side_of(frames, action):
        if isinstance(event, ev.TunnelData):
            found.words = event.error
            if not event.error.startswith(ev.REFUSED):
                found.take(event.data)
            if event.end:
                return


def _side_of(frames: Frames, action: Action) -> Iterator[ev.WebSocketMessage | ev.TunnelData]:
    """Yield from an action's first event on what the same side sent in the same exchange."""
    side: bool | None = None
    for seq, _, event in frames:
        if seq < action.seq or not isinstance(event, ev.WebSocketMessage | ev.TunnelData):
            continue
        if event.exchange == action.exchange and event.from_agent is (
            event.from_agent if side is None else side
        ):
            side = event.from_agent
            yield event


def _single(event: object, action: Action, found: Content) -> None:
    match event:
        case ev.McpMessage():
            found.words = event.note
            found.take(event.data)
        case ev.ToolCallRequest():
            found.take(event.arguments)
        case ev.ToolCallResult():
            found.words = "error" if event.is_error else ""
            found.take(event.result)
        case ev.FileResult():
            found.words = f"mode {event.mode:04o}, {event.hash.hex()}" if event.hash else "it is gone"
        case ev.FsManifest() if event.root == PROGRAMS:
            found.words = event.entries.get(action.stream.partition(" ")[2], b"").hex()
        case ev.Checkpoint():
            found.words = f"{event.label} {event.state_hash.hex()}"
        case ev.EgressDecision() | ev.DnsDecision():
            found.words = event.reason
        case RunEnd():
            found.words = f"{event.reason}, exit code {event.exit_code}"
        case _:
            pass
