"""HTTP exchanges as frozen values: what was asked, what was answered, and when each piece came.

What always holds: what is held at a time is bounded by `MAX_OPEN` and `MAX_ALL`, and an exchange of which
something was let go, or was not stored, says so (`cut`). Bodies are given with their content codings undone
where `hark.replay.packed` can do so, and as they were sent where it cannot.

Not done here: what a body means (`hark.conversation.model`), WebSockets, raw connections and tool servers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hark.bundle.fields import Pairs
from hark.conversation.gathered import EVENTS, Gathered, Gathering, Limits, Piece, plain, raw
from hark.replay.recorded import Frame

MAX_HELD: Final = 8 << 20  # bytes of one body: a prompt with a picture in it is smaller
MAX_ALL: Final = 64 << 20  # bytes of all bodies of the exchanges that are open at a time
MAX_OPEN: Final = 4096  # exchanges at a time; an agent has some ten
MAX_TIMES: Final = 100_000  # pieces of one answer whose times are kept


@dataclass(frozen=True, slots=True)
class Heard:
    """One exchange. Times are nanoseconds since the run began."""

    exchange: int
    seq: int
    """The event of its LlmRequest."""
    time_ns: int
    ended_ns: int | None
    host: str
    method: str
    path: str
    headers: Pairs
    body: bytes
    status: int
    """0: there was no answer."""
    answer_headers: Pairs
    answer: bytes
    answer_times: tuple[Piece, ...]
    """The event, time and length (as sent) of each piece of the answer's body."""
    error: str
    refused: str
    """Why hark refused it; empty where it did not."""
    cut: bool
    """Whether `body` or `answer` is not all."""
    ended_seq: int | None = None
    """The event of its end."""
    origin: str = ""
    """`https://host`, with the port where it is not the scheme's own."""


class Exchanges:
    """Takes events one by one, and gives the exchanges that end with them."""

    def __init__(self) -> None:
        self._gathering = Gathering(Limits(MAX_HELD, MAX_ALL, MAX_OPEN, MAX_TIMES))

    def add(self, frame: Frame) -> tuple[Heard, ...]:
        """Take the next event."""
        found = self._gathering.take(*frame) if type(frame.event) in EVENTS else ()
        return tuple(map(_heard, found)) if found else ()

    def rest(self) -> Iterator[Heard]:
        """Yield what never ended, in the order of its beginning."""
        return map(_heard, self._gathering.rest())


def exchanges(frames: Iterable[Frame]) -> Iterator[Heard]:
    """Yield a run's exchanges in the order of their ends."""
    gathering = Exchanges()
    for frame in frames:
        yield from gathering.add(frame)
    yield from gathering.rest()


def _heard(one: Gathered) -> Heard:
    request, refused = one.request, one.refused
    headers, answered = raw(request), one.answer_headers
    return Heard(
        exchange=one.number,
        seq=one.seq,
        time_ns=one.time_ns,
        ended_ns=one.ended_ns,
        host=request.host,
        method=request.method,
        path=request.path,
        headers=headers,
        body=plain(headers, one.asked),
        status=one.status,
        answer_headers=answered,
        answer=plain(answered, one.answered),
        answer_times=tuple(one.answered.pieces),
        error="" if refused or one.end is None else one.end.error,
        refused=refused,
        cut=one.asked.cut or one.answered.cut,
        ended_seq=one.ended_seq,
        origin=one.origin,
    )
