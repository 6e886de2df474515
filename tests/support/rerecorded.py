"""Bundles told anew: the events of one, changed as a test asks, in a bundle that verifies again.

What a stranger can do to a bundle before they sign it, and what a test of replay does to see that it notices.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from hark.bundle.assemble import Assembler
from hark.bundle.bounds import SEAL, RunEnd
from hark.bundle.events import Event, Unknown, decode
from hark.bundle.header import Header
from hark.bundle.tree_head import SigningKey
from hark.bundle.walk import BundleFile

STRANGER: Final = SigningKey(bytes(range(1, 33)))
"""Whose key no test's user has."""

type Told = tuple[int, Any]
"""When (nanoseconds since the run began), and the event."""
type Change = Callable[[list[Told]], Iterable[Told]]


def told(path: str | Path) -> list[Told]:
    """The events of a bundle, without its seal."""
    with BundleFile(str(path)) as file:
        frames = [placed.frame for placed in file.frames()]
    return [(frame.time, decode(frame.kind, frame.payload)) for frame in frames if frame.kind != SEAL]


def retell(
    path: str | Path,
    target: str | Path,
    change: Change = lambda events: events,
    *,
    key: SigningKey | None = STRANGER,
    seal: bool = True,
) -> Path:
    """Write the bundle at `path` anew to `target`, changed; signed by `key`, sealed unless `seal` says no."""
    with BundleFile(str(path)) as file:
        header = file.header
    events = list(change(told(path)))
    return write(target, events, header, key=key, seal=seal)


def write(
    target: str | Path,
    events: Iterable[Told],
    header: Header,
    *,
    key: SigningKey | None = STRANGER,
    seal: bool = True,
) -> Path:
    """Write a bundle of these events; without a seal it breaks off, as of a writer that was killed."""
    assembler = Assembler(header, b"s")
    data, ended, last = bytearray(assembler.preamble), "exit", 0
    for time, event in events:
        data += assembler.add(event, time)
        last = time
        ended = event.reason if isinstance(event, RunEnd) else ended
    if seal:
        data += assembler.seal(ended, last, header.created_at + last, key)[0]
    Path(target).write_bytes(data)
    return Path(target)


def replaced(kind: type[Any], **changes: Any) -> Change:
    """Change fields of every event of a kind."""

    def change(events: list[Told]) -> Iterator[Told]:
        for time, event in events:
            yield time, event._replace(**changes) if isinstance(event, kind) else event

    return change


def without(wanted: Callable[[Event | Unknown], bool]) -> Change:
    """Leave events out."""
    return lambda events: [(time, event) for time, event in events if not wanted(event)]
