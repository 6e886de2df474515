"""Recorded input, given to an agent again: the same kinds of streams, the same pieces, each at its turn.

Always: what the reviewer has as standard input is neither read nor held by the agent. Where the recorded
agent had a terminal it has one, though the reviewer may have none, and its output goes to the reviewer's. It
has the modes of a new terminal. What was recorded before the agent started is there when it starts, without a
turn.
"""

import fcntl
import os
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from launcher.intake import Intake, Kind, open_pipe, sealed
from launcher.plan import Plan

type Turn = Callable[[int], bool]
"""Wait until the recorded event with this number may reach the agent.

MUST return True then, and False once the run is over. Called in the order of the recording, from one thread
that does nothing else.
"""

_OPENING: Final = ("streams", "stdin-offset", "stdin-file")
_SIZE: Final = "terminal-size"


class Piece(NamedTuple):
    """One recorded Input event and its sequence number."""

    seq: int
    source: str
    data: bytes
    end: bool


@dataclass(frozen=True)
class Played:
    """The input of a recorded run, in order."""

    pieces: tuple[Piece, ...]
    turn: Turn
    ends: bool = False
    """Whether a terminal at which nothing more may be typed says so to the agent, as Ctrl-D does."""
    to_the_end: bool = False
    """Whether the agent's output is taken to its end, also where nobody reads it any more."""

    @cached_property
    def streams(self) -> tuple[Kind, ...]:
        """What each standard stream was; input that was not recorded is empty."""
        said = next((piece.data for piece in self.pieces if piece.source == "streams"), b"")
        words = said.decode(errors="replace").split(" ")
        known = {kind.value: kind for kind in Kind}
        kinds = [known.get(word, Kind.OTHER) for word in (*words, "", "", "")[:3]]
        return tuple(kinds)

    @property
    def terminals(self) -> tuple[int, ...]:
        """The streams that were the agent's own terminal."""
        return tuple(number for number, kind in enumerate(self.streams) if kind is Kind.TERMINAL)

    @property
    def size(self) -> bytes:
        """Rows and columns at the start, as recorded; empty without a terminal."""
        return next((piece.data for piece in self.pieces if piece.source == _SIZE), b"")

    @cached_property
    def later(self) -> tuple[Piece, ...]:
        """What came while the agent ran."""
        first = next((piece.seq for piece in self.pieces if piece.source == _SIZE), -1)
        return tuple(piece for piece in self.pieces if piece.source not in _OPENING and piece.seq != first)

    def applied(self, plan: Plan) -> Plan:
        """The plan with streams as they were."""
        terminals = self.terminals
        return replace(plan, record_input=True, terminal=bool(terminals), on_terminal=terminals)

    def settle(self, owner: tuple[int, int] | None) -> Intake:
        """Standard input as it was; `owner` as in `launcher.intake.settle`."""
        kind = self.streams[0]
        said = b" ".join(kind.value.encode() for kind in self.streams)
        match kind:
            case Kind.PIPE:
                return replace(open_pipe(owner), said=said)
            case Kind.FILE:
                return Intake(kind, self._file(), said=said)
            case _:
                return Intake(kind, os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), said=said)

    def _file(self) -> int:
        content = (piece.data for piece in self.pieces if piece.source == "stdin-file")
        offset = next((piece.data for piece in self.pieces if piece.source == "stdin-offset"), b"0")
        return sealed(content, int(offset) if offset.isdigit() else 0)


def resize(master: int, size: bytes) -> None:
    """Give a terminal the recorded size; one that cannot be is passed over."""
    rows, _, columns = size.partition(b"x")
    if rows.isdigit() and columns.isdigit() and max(int(rows), int(columns)) < 1 << 16:
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))
