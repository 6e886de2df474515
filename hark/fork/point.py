"""Where a fork goes live and what is changed there, settled before anything is started.

Always: a patch that matches nothing in what was recorded there is an error here, and never later.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hark.bundle.events import RequestChunk
from hark.bundle.hashing import content_hash
from hark.errors import ForkError, PatchError
from hark.fork import message
from hark.patch.apply import Sent, asked, patched_answer
from hark.patch.model import parse_patch
from hark.patch.steps import Patch
from hark.patch.where import Point, Side, find
from hark.replay.pieces import Branched, Part, Refused, Withheld
from hark.replay.recorded import Frame, Recorded, read
from hark.replay.score import Score
from hark.rerun.recalled import Recalled
from hark.rerun.replaying import recorded_frames


@dataclass(frozen=True)
class Turn:
    """A branch point of one recording."""

    point: Point
    exchange: int
    """The recorded run's number of its exchange; 0 of a message that is in none."""
    sent: Sent | None
    """Its request, as it was recorded; None of a message."""
    parts: tuple[Part, ...]
    """What its answer is in the fork, up to where the recording has a say."""
    patch: Patch | None
    notes: tuple[str, ...]
    """What else had to be changed for the patch, in words."""
    call: message.Asked | None = None
    """The tool call over stdio that is asked live."""

    def put(self, score: Score) -> None:
        """Have a recording go on in this way. Raises ForkError where it has no place for it."""
        if self.point.talk:
            message.put(self.point, self.branch, self.call, score)
        else:
            score.recording.exchanges[self.exchange].parts = list(self.parts)

    @property
    def branch(self) -> Part:
        """Return the part with which the run goes live."""
        return self.parts[0]

    @property
    def patch_hash(self) -> bytes:
        """Return what the header says of the patch."""
        return b"" if self.patch is None else content_hash(self.patch.raw)


def settle(recalled: Recalled, at: str, raw_patch: bytes | None, source: str) -> Turn:
    """Find the branch point and make the patch there. Raises ForkError, PatchError."""
    patch = None if raw_patch is None else parse_patch(raw_patch, source)
    on = None if patch is None else patch.on
    otherwise = Side.REQUEST if patch is None else Side.RESPONSE
    point = find(at, recorded_frames(recalled), on, otherwise=otherwise)
    if point.talk:
        return _of_message(recalled, point, patch)
    exchange, recorded, sent = recorded_at(recalled, point)
    try:
        return _turned(point, patch, exchange, recorded, sent)
    except PatchError as error:
        if patch is None or not _fits(patch, point, recorded, sent):
            raise
        raise PatchError(f"{error}; {_other_side(recalled, point, overruled=on is not None)}") from None


def _of_message(recalled: Recalled, point: Point, patch: Patch | None) -> Turn:
    frame, data = message.recorded_message(recalled, point)
    new = message.patched(patch, point, data)
    part = message.part_of(point, frame, new)
    call = None
    if point.side is Side.REQUEST:
        call = message.Asked(frame.event.server, data, new, point.words)
    return Turn(point, 0, None, (part,), patch, (), call)


def _turned(point: Point, patch: Patch | None, exchange: int, recorded: Recorded, sent: Sent) -> Turn:
    notes: tuple[str, ...] = ()
    if point.side is Side.REQUEST:
        _refuse_refused(recorded, point)
        if patch is not None:
            notes = asked(patch, sent).notes
        return Turn(point, exchange, sent, (_asked_live(recorded),), patch, notes)
    parts = _answer(recorded)
    if patch is not None:
        answer = patched_answer(patch, parts)
        parts, notes = answer.parts, answer.notes
    if not parts or isinstance(parts[0].piece, Withheld):
        raise ForkError(f"nothing of the answer to {point.words} was recorded; fork at its request instead")
    return Turn(point, exchange, sent, parts, patch, notes)


def _fits(patch: Patch, point: Point, recorded: Recorded, sent: Sent) -> bool:
    """Tell whether a patch could be made on the other side of its exchange."""
    try:
        if point.side is Side.REQUEST:
            patched_answer(patch, _answer(recorded))
        else:
            asked(patch, sent)
    except PatchError:
        return False
    return True


def _other_side(recalled: Recalled, point: Point, *, overruled: bool) -> str:
    """Say that the text stands on the other side, and what leads there."""
    other = Side.RESPONSE if point.side is Side.REQUEST else Side.REQUEST
    at = other_side(recalled, point)
    where = f'write "on": "{other.value}" in the patch' if overruled or at is None else f"fork with -at {at}"
    return f"this is {point.place}, and its {other.value} has it: {where}"


def other_side(recalled: Recalled, point: Point) -> int | None:
    """Return the event that names the other side of a point's exchange; None where it is no branch point."""
    if point.side is Side.RESPONSE:
        return point.request
    try:
        return find(str(point.request), recorded_frames(recalled), Side.RESPONSE).at
    except ForkError:
        return None


def _answer(recorded: Recorded) -> tuple[Part, ...]:
    return tuple(part for part in recorded.parts if not isinstance(part.piece, Branched))


def recorded_at(recalled: Recalled, point: Point) -> tuple[int, Recorded, Sent]:
    """Return the exchange of a point as it was recorded, with its number and its request as it was sent."""
    frames = tuple(_of_one(recalled, point.request))
    number, recorded = next(iter(read(frames).exchanges.items()))
    request = recorded.request
    more = (frame.event.data for frame in frames if isinstance(frame.event, RequestChunk))
    body = b"".join((request.body, *more))
    return number, recorded, Sent(request.method, request.host, request.path, request.raw_headers, body)


def _of_one(recalled: Recalled, request: int) -> Iterator[Frame]:
    """Yield the events of one exchange, but for what has no part in it."""
    number = None
    for frame in recorded_frames(recalled):
        if frame.seq == request:
            number = frame.event.exchange
        if number is not None and getattr(frame.event, "exchange", None) == number:
            yield frame


def _asked_live(recorded: Recorded) -> Part:
    """Return what stands in the place of an answer that is asked live: the turn to ask for it.

    It comes where the request had ended; at its head, where it never did, or was answered before.
    """
    end = recorded.head if recorded.end is None or _began_early(recorded) else recorded.end
    sent = 0 if end is recorded.head and end is not recorded.end else recorded.sent
    return Part(end.seq, end.time_ns, Branched(), sent)


def _began_early(recorded: Recorded) -> bool:
    answer = _answer(recorded)
    return recorded.end is not None and bool(answer) and answer[0].seq < recorded.end.seq


def _refuse_refused(recorded: Recorded, point: Point) -> None:
    if any(isinstance(part.piece, Refused) for part in recorded.parts):
        raise ForkError(
            f"{point.words} was refused by the policy when it was recorded, and is judged by that up to the "
            "branch point; fork at an answer before it, with -policy"
        )
