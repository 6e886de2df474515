"""One bundle as a side of a comparison: verified, read once, and what is shown of an action read again.

What always holds: nothing is read out of a bundle that is BROKEN; what is read later has the leaf that was
verified, or it is an error. A payload that was taken out is counted, and compared with nothing.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from hark.bundle import events as ev
from hark.bundle.frame import unpack
from hark.bundle.hashing import HASH_SIZE, leaf_hash
from hark.bundle.walk import BundleFile
from hark.diff.order import Effort
from hark.diff.reading import Read, read, read_both
from hark.errors import BundleError
from hark.replay import treatment
from hark.replay.actions import Action
from hark.replay.canonical import Canonical
from hark.replay.content import Content, content
from hark.verify.result import TRUNCATED

AHEAD: Final = 1 << 16  # bytes that are read at once

type Told = tuple[int, int, ev.Event | ev.Unknown]


class Side:
    """One bundle. Closes itself at the end of a `with`."""

    def __init__(self, path: str, found: Read | None = None) -> None:
        self.path: Final = path
        self._read: Final = read(path) if found is None else found
        self.verified: Final = self._read.verified
        self.start: Final = self._read.start
        self.branches: Final = self._read.branches
        self.taken_out: Final = self._read.taken_out
        self.streams: Final = self._read.streams
        self.rules: Final = self._read.rules()
        self._file: Final = BundleFile(path)
        self._block_at, self._block = 0, b""
        self.effort: Final = Effort()
        """What comparing may cost where this is the first side."""

    @property
    def truncated(self) -> bool:
        """Tell whether the record breaks off."""
        return self.verified.verdict == TRUNCATED

    def content(self, action: Action, *, asked: bool = True) -> Content:
        """Return what an action was, in full, or without what was asked. Raises BundleError."""
        return content(self._told(action, asked=asked), action, self.rules, asked=asked)

    def request(self, action: Action) -> Canonical | None:
        """Return what was asked. Raises BundleError."""
        return self.content(action).request

    def result(self, action: Action | None) -> ev.FileResult | None:
        """Return what became of a file, if that is what an action is. Raises BundleError."""
        event = None if action is None else self._again(action.seq)[2]
        return event if isinstance(event, ev.FileResult) else None

    def manifests(self) -> Iterator[ev.Event | ev.Unknown]:
        """Yield the events of the project's manifest. Raises BundleError."""
        return (self._again(seq)[2] for seq in self._read.manifests)

    def snapshots(self) -> Iterator[ev.Event | ev.Unknown]:
        """Yield the events of what the project's files held. Raises BundleError."""
        return (self._again(seq)[2] for seq in self._read.snapshots)

    def _told(self, action: Action, *, asked: bool) -> Iterator[Told]:
        """Yield the events of an action's exchange from its first on, or its only one.

        The request itself, which may be long, is left out unless it is `asked` for.
        """
        seqs = self._read.exchanges.get(action.exchange) if action.exchange else None
        if seqs is None:
            yield self._again(action.seq)
            return
        answered = not asked and action.stream.startswith(f"{treatment.REQUEST} ")
        for at in range((bisect_right if answered else bisect_left)(seqs, action.seq), len(seqs)):
            yield self._again(seqs[at])

    def _again(self, seq: int) -> Told:
        frame = unpack(self._bytes(self._read.offsets[seq], self._read.sizes[seq]))
        leaf = self._read.leaves[seq * HASH_SIZE : (seq + 1) * HASH_SIZE]
        if frame is None or leaf_hash(seq, frame.kind, frame.payload) != leaf:
            raise BundleError(f"{self.path} was changed while it was read; compare it again")
        return seq, frame.time, ev.decode_frame(frame)

    def _bytes(self, at: int, size: int) -> bytes:
        """Return bytes of the file; what is read next mostly stands close behind."""
        begin = at - self._block_at
        if begin < 0 or begin + size > len(self._block):
            if size > AHEAD:
                return self._file.read(at, size)
            self._block_at, self._block, begin = at, self._file.read(at, AHEAD), 0
        return self._block[begin : begin + size]

    def close(self) -> None:
        """Let the file go; again is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def both(one: str, other: str) -> Iterator[tuple[Side, Side]]:
    """Give two bundles, read side by side. Raises BundleError."""
    first, second = read_both(one, other)
    with Side(one, first) as a, Side(other, second) as b:
        yield a, b
