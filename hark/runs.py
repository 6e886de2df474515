"""The runs that this machine keeps, as a list to read and to clear: what was run, and what may go.

What always holds: only a run that has ended, sealed or killed, is ever offered for removal; one that is
running, or a file that cannot be read as a bundle, is left alone. Nothing is verified here, so what is
listed is what the files say; where they lie and which state they are in is `hark.bundle.store`'s.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from hark.bundle import events
from hark.bundle.bounds import RUN_START, RUN_START_KIND, RunStart, decode_as
from hark.bundle.frame import Frame
from hark.bundle.lineage import ORIGINAL, Lineage, lineage_of
from hark.bundle.store import KILLED, SEALED, Run, list_runs
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, UsageError

UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
SECOND: Final = 1_000_000_000
MAX_KEEP_DIGITS: Final = 9
MAX_OPENING: Final = 8  # events before the one that says how a run repeats itself: there are four or five
_DETERMINISM: Final = 47


class Keep(NamedTuple):
    """What is left: the `newest` runs, or those younger than `age` seconds. One of the two is None."""

    newest: int | None
    age: int | None


def newest_first(directory: str) -> list[Run]:
    """Every run in the directory."""
    return sorted(list_runs(directory), key=lambda run: (-started_at(run), run.run_id))


def started_at(run: Run) -> int:
    """When it began, Unix nanoseconds; 0 if the file does not say."""
    return 0 if run.header is None else run.header.created_at


def lineage(run: Run) -> Lineage:
    """Where the run comes from, by its header."""
    return ORIGINAL if run.header is None else lineage_of(run.header)


class Opening(NamedTuple):
    """What a run's first events say of it."""

    command: tuple[str, ...] = ()
    """The command line that RunStart recorded; empty if there is none to read."""
    replayed: bytes = b""
    """Of a replay: the root of the bundle that it replays."""


def opening(run: Run) -> Opening:
    """Read how a run begins; what cannot be read is left empty."""
    found = Opening()
    if not run.events:
        return found
    try:
        with BundleFile(run.path) as file:
            for placed in islice(file.frames(), MAX_OPENING):
                found = _take(found, placed.frame)
                if placed.frame.kind == _DETERMINISM or not found.command:
                    break
    except BundleError:  # gone, or not a bundle any more
        pass
    return found


def _take(found: Opening, frame: Frame) -> Opening:
    if frame.kind == RUN_START:
        start: RunStart = decode_as(RUN_START_KIND, frame.payload)
        return found._replace(command=start.argv)
    if frame.kind == _DETERMINISM and frame.payload:
        event = events.decode(frame.kind, frame.payload)
        return found._replace(replayed=event.replayed) if isinstance(event, events.Determinism) else found
    return found


def parse_keep(text: str) -> Keep:
    """`20` keeps that many runs, `30d` the runs of the last thirty days."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in UNITS else (text, "")
    if not (number.isascii() and number.isdigit() and len(number) <= MAX_KEEP_DIGITS):
        raise UsageError(f"-keep needs a number of runs (20) or an age (12h, 30d, 2w), not {text!r}")
    if unit:
        return Keep(None, int(number) * UNITS[unit])
    return Keep(int(number), None)


def removable(runs: Iterable[Run], keep: Keep, now_ns: int) -> list[Run]:
    """The runs that have ended and that `keep` does not cover, oldest first."""
    ended = sorted((run for run in runs if run.state in {SEALED, KILLED}), key=started_at)
    if keep.newest is not None:
        return ended[: max(0, len(ended) - keep.newest)]
    oldest = now_ns - (keep.age or 0) * SECOND
    return [run for run in ended if started_at(run) < oldest]
