"""What came in and what the agent did, as values: the smallest things that a recording is made of. No IO.

Always: each keeps the sequence number and the time of the event that it was recorded in.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from hark.bundle.events import Branch
from hark.bundle.fields import Pairs

ALONG_NS: Final = 10_000_000  # what a server writes at once may come in two reads


class Early(NamedTuple):
    """An answer before the answer (103)."""

    status: int
    headers: Pairs


class Head(NamedTuple):
    """Status and headers; `ends`: nothing follows, and nothing was waited for."""

    status: int
    headers: Pairs
    ends: bool


class Data(NamedTuple):
    """A piece of the body."""

    data: bytes


class Tail(NamedTuple):
    """Trailers."""

    headers: Pairs


class End(NamedTuple):
    """The answer was whole."""


class Failed(NamedTuple):
    """There was no, or no whole, answer."""

    reason: str


class Withheld(NamedTuple):
    """Nothing more came before the agent, or the run, gave up."""

    reason: str


class Refused(NamedTuple):
    """Hark's own policy answered."""

    reason: str


class Typed(NamedTuple):
    """Input that the agent got: the event itself has it."""


class Message(NamedTuple):
    """A message, or a piece of one, or a control frame of a WebSocket's server."""

    type: str
    data: bytes
    more: bool


class Changed(NamedTuple):
    """The policy became another one."""

    source: str
    raw: bytes


class Called(NamedTuple):
    """The operator's side connected to a published port of the agent's."""

    port: int


class Branched(NamedTuple):
    """The run went live here, as `event` says; in a fork that has still to happen, and there is none.

    In an answer: its request was asked of a real server from here on.
    """

    event: Branch | None = None


type Piece = (
    Early
    | Head
    | Data
    | Tail
    | End
    | Failed
    | Withheld
    | Refused
    | Typed
    | Message
    | Changed
    | Called
    | Branched
)


class Part(NamedTuple):
    """Something that came in. `sent`: bytes of the request's body that had gone out before."""

    seq: int
    time_ns: int
    piece: Piece
    sent: int = 0


@dataclass(slots=True)
class Action:
    """Something that the agent did."""

    seq: int
    time_ns: int
    words: str
    blocking: bool
    """Whether what came later is not released before it."""
    done: bool = False


def is_along(before: Part, part: Part) -> bool:
    """Tell whether a part of an answer was recorded in one, or as good as in one, with the one before it."""
    if isinstance(part.piece, Data):
        return isinstance(before.piece, Head) and before.seq == part.seq
    return isinstance(part.piece, End) and part.time_ns - before.time_ns < ALONG_NS
