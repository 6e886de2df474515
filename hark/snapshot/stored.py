"""Manifest and copy as events, and put together again from events. No IO.

A manifest of many files is several events of one root; a copy is parts of one name and hash. What is put
together was written by somebody else: no part may be missing, come twice or out of order.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from hark.bundle.events import FsManifest, ShimReport, Snapshot
from hark.errors import BundleError
from hark.snapshot.collect import Collected, Kept
from hark.snapshot.names import spelled

NAME: Final = "project"
PART: Final = 1 << 20  # bytes of the copy in one event
_ENTRIES: Final = 4096  # of a manifest in one event; with paths as long as any, under 17 MB


class Stored(NamedTuple):
    """What a bundle holds of the project before the agent."""

    entries: Mapping[str, bytes]
    left_out: Mapping[str, str]
    hash: bytes = b""
    """Of the copy, uncompressed; empty where there is none."""
    data: bytes = b""
    """Compressed."""


def events_of(collected: Collected, root: str) -> Iterator[FsManifest | Snapshot | ShimReport]:
    """Yield what goes on the record before the agent starts."""
    yield from _manifest(root, collected)
    if collected.why:
        yield ShimReport("files", "a copy of the project", collected.why)
    if collected.kept is not None:
        yield from parts_of(collected.kept, NAME)


def parts_of(kept: Kept, name: str) -> Iterator[Snapshot]:
    """Yield an archive in parts."""
    for seq, start in enumerate(range(0, len(kept.data), PART)):
        part = kept.data[start : start + PART]
        yield Snapshot(name, kept.hash, seq, part, last=start + PART >= len(kept.data))


def _manifest(root: str, collected: Collected) -> Iterator[FsManifest]:
    """Yield at least one event: an empty project has a manifest too."""
    entries, left_out = sorted(collected.entries.items()), sorted(collected.left_out.items())
    for start in range(0, max(len(entries), len(left_out), 1), _ENTRIES):
        part = slice(start, start + _ENTRIES)
        yield FsManifest(
            entries={spelled(path): digest for path, digest in entries[part]},
            root=root,
            left_out={spelled(path): why for path, why in left_out[part]},
        )


def put_together(events: Iterable[object], root: str) -> Stored:
    """Return what the events say of `root`, a run's working directory. Raises BundleError."""
    entries: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    parts: list[Snapshot] = []
    for event in events:
        if isinstance(event, FsManifest) and event.root == root:
            entries |= event.entries
            left_out |= event.left_out
        elif isinstance(event, Snapshot) and event.name == NAME:
            if event.seq != len(parts) or (parts and (parts[-1].last or event.hash != parts[0].hash)):
                raise BundleError(f"part {event.seq} of the snapshot is out of place")
            parts.append(event)
    if parts and not parts[-1].last:
        raise BundleError("the snapshot has no end")
    hash_ = parts[0].hash if parts else b""
    if parts and not hash_:
        raise BundleError("the snapshot has no hash")
    return Stored(entries, left_out, hash_, b"".join(part.data for part in parts))
