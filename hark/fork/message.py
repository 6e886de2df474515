"""A branch point that is a message: of a WebSocket's server, of a tool server, of raw TCP, or a tool call.

Always: what was said before it there is played, with it the run is live. A message that stands for itself is
taken as the agent would read it: a tool server's is one line of JSON-RPC with the ids that it had, a
WebSocket's text is text, and raw TCP is never an empty piece, which would be its end.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hark.bundle.events import McpMessage, TunnelData, WebSocketMessage
from hark.errors import ForkError, PatchError
from hark.patch import jsontext
from hark.patch.apply import patched_message
from hark.patch.steps import Patch
from hark.patch.where import Point, Side
from hark.patch.world import tool_changes_world
from hark.policy.model import Policy
from hark.replay.pieces import Branched, Data, Message, Part
from hark.replay.recorded import Frame, Recorded, Recording
from hark.replay.score import Score
from hark.replay.talks import MCP, TUNNEL, WEBSOCKET, Talk
from hark.rerun.recalled import Recalled
from hark.rerun.replaying import recorded_frames
from hark.visible import visible


def recorded_message(recalled: Recalled, point: Point) -> tuple[Frame, bytes]:
    """Return the event of a point, and what was said: of a call, the message that it is in."""
    wanted = point.at if point.side is Side.RESPONSE else point.request
    for frame in recorded_frames(recalled):
        if frame.seq == wanted and isinstance(frame.event, (McpMessage, TunnelData, WebSocketMessage)):
            return frame, frame.event.data
    raise ForkError(f"{point.words} is not in the bundle any more")


def patched(patch: Patch | None, point: Point, data: bytes) -> bytes:
    """Return what is said instead. Raises PatchError."""
    new = data if patch is None else patched_message(patch, data)
    if point.talk == TUNNEL and not new:
        raise PatchError("nothing would be left of what was said there, and raw TCP has no empty message")
    if point.talk == MCP and new != data:
        _check_line(data, new)
    return new


def part_of(point: Point, frame: Frame, data: bytes) -> Part:
    """Return the part with which the run goes live; a call is asked live, and has no answer yet."""
    if point.side is Side.REQUEST:
        return Part(point.at, frame.time_ns, Branched())
    event = frame.event
    said = Message(event.type, data, more=False) if isinstance(event, WebSocketMessage) else Data(data)
    return Part(frame.seq, frame.time_ns, said)


@dataclass(frozen=True, slots=True)
class Asked:
    """Tool calls that are asked live, in one message."""

    server: str
    said: bytes
    """As they were recorded."""
    asked: bytes
    """As they are asked."""
    words: str


def refuse_asked(call: Asked, policy: Policy | None) -> None:
    """Refuse calls that the forker's policy would: what is asked first is known. Raises ForkError."""
    from mediator.mcp.jsonrpc import Call, MessageError, read
    from mediator.mcp.judge import judge

    server = None if policy is None else next((one for one in policy.mcp if one.name == call.server), None)
    if policy is None or server is None:
        raise ForkError(
            f"{call.words} is asked of a real tool server: name [mcp.{visible(call.server)}] in a file that "
            "-policy names, or fork at its result"
        )
    try:
        packet = read(call.asked)
    except MessageError as error:
        raise ForkError(f"{call.words} cannot be asked as it is patched: {error}") from None
    denied = judge(server.tools, packet, "allow_tools")
    if denied is not None:
        raise ForkError(f"{call.words} is denied by the policy of this fork: {visible(denied.reason)}")
    made = (one.tool for one in packet.messages if isinstance(one, Call))
    why = next((why for tool in made if (why := tool_changes_world(call.server, tool, policy))), "")
    if why:
        raise ForkError(f"{why}, or fork at its result")


def put(point: Point, part: Part, call: Asked | None, score: Score) -> None:
    """Have a recording say it with this part. Raises ForkError where it has no place for it."""
    if call is not None:
        _put_call(point, part, call.said, score)
        return
    for holder in _holders(point, score.recording):
        for at, one in enumerate(holder.parts):
            if one.seq == part.seq:
                holder.parts[at] = part
                return
    raise ForkError(f"{point.words} is not played back, so a fork cannot go live at it")


def _holders(point: Point, recording: Recording) -> Iterator[Talk | Recorded]:
    if point.talk == WEBSOCKET:
        yield from recording.exchanges.values()
    else:
        yield from (talk for talk in recording.talks if talk.lane[0] == point.talk)


def _put_call(point: Point, part: Part, said: bytes, score: Score) -> None:
    """Take the recorded answers to a call out: the server that is asked gives one."""
    for talk in score.recording.talks:
        if talk.lane[0] == MCP and any(action.seq == point.request for _, action in talk.acts):
            ids = ids_in(jsontext.load(said))
            kept = [one for one in talk.parts if one.seq < part.seq or not _answers(one, ids)]
            talk.parts = sorted((*kept, part), key=lambda one: one.seq)
            score.talks.renew(talk)
            return
    raise ForkError(f"{point.words} is not played back, so a fork cannot go live at it")


def _answers(part: Part, ids: list[object]) -> bool:
    piece = part.piece
    value = jsontext.load(piece.data) if isinstance(piece, Data) else None
    messages = value if isinstance(value, list) else [value]
    found = (one for one in messages if isinstance(one, dict) and "method" not in one)
    return any(one.get("id") in ids for one in found)


def ids_in(value: object) -> list[object]:
    """Return the ids in a message or a batch, as its JSON has them; those of notifications are none."""
    messages = value if isinstance(value, list) else [value]
    return [one["id"] for one in messages if isinstance(one, dict) and one.get("id") is not None]


def _check_line(old: bytes, new: bytes) -> None:
    """Refuse what a reader of lines would take for something else. Raises PatchError."""
    if b"\n" in new or b"\r" in new:
        raise PatchError("a message of a tool server is one line; write what breaks it as \\n in its JSON")
    value = jsontext.load(new)
    if value is None:
        raise PatchError("it would be no JSON any more, and a message of a tool server is")
    if ids_in(value) != ids_in(jsontext.load(old)):
        raise PatchError("it would have another id, and nobody would take it for the answer that it is")
