"""What one pass over a bundle's frames finds out: everything that the numbered steps then compare.

What always holds: the facts are the same whether one process or several looked. When a frame is at fault
the walk still goes on to the end, since the footer says which payloads were taken out. Nothing is judged
here.
"""

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3

from hark.bundle.bounds import RUN_END, SEAL
from hark.bundle.frame import SEALED_PART, Frame
from hark.bundle.hashing import ZERO_HASH
from hark.bundle.mmr import Mmr
from hark.bundle.sha256tree import Tree
from hark.bundle.walk import AT_FOOTER, BundleFile, Chunk
from hark.verify.scan import BLOCK, Fault, Scan, merge, splice

if TYPE_CHECKING:
    from hark.verify.parallel import Pool

LARGE: Final = 8 << 20  # bytes from which forking a worker pays: below, one core needs under 50 ms
SEGMENT_BYTES: Final = 4 << 20  # a task of some 10 ms: large beside its cost, small beside the file
_SEALED: Final = SEALED_PART.stop - SEALED_PART.start
_FIRST, _LAST = SEALED_PART.start, SEALED_PART.stop


class Facts(NamedTuple):
    """All that the frames themselves say."""

    events: int
    """Whole frames in the file; those after `fault` are not checked."""
    end: str
    """Why the frames end, one of the words of `hark.bundle.walk`."""
    end_at: int
    """The byte after the last whole frame."""
    claim: int
    fault: Fault | None
    withheld: array[int]
    root: bytes
    sha256_root: bytes
    """The root of the same leaves under SHA-256."""
    chain: bytes
    start: Frame | None
    """The first frame."""
    run_end: Frame | None
    """The last RunEnd."""
    last: Frame | None
    last_at: int
    seals: int
    """How many frames say that they are a Seal."""
    frames_hash: bytes
    """What a Seal hashes, over every frame but the last."""
    counts: dict[int, int]
    """Kind -> frames of that kind, without the last."""


class Survey:
    """Counts, times and places of frames, from their heads alone."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.last_at = -1
        self.run_end_at = -1
        self._hasher = blake3()
        self._held = b""

    def add(self, chunk: Chunk) -> None:
        """Take in the heads of `chunk`."""
        data = chunk.data
        parts = self._held + b"".join([data[at + _FIRST : at + _LAST] for at in chunk.starts])
        self._hasher.update(parts[:-_SEALED])
        self._held = parts[-_SEALED:]
        kinds = parts[len(parts) - _SEALED * len(chunk.starts) :: _SEALED]
        for kind in set(kinds):
            self.counts[kind] = self.counts.get(kind, 0) + kinds.count(kind)
        if (index := kinds.rfind(RUN_END)) >= 0:
            self.run_end_at = chunk.at + chunk.starts[index]
        self.last_at = chunk.at + chunk.starts[-1]

    def before_last(self) -> tuple[bytes, dict[int, int]]:
        """Hash and counts over every frame but the last."""
        counts = dict(self.counts)
        if self._held:
            counts[self._held[0]] -= 1
        return self._hasher.digest(), {kind: count for kind, count in counts.items() if count}


def gather(file: BundleFile, workers: int | None = None) -> Facts:
    """Look at every frame of `file`, with `workers` forked processes (as many as pay, unless given)."""
    workers = _workers_for(file) if workers is None else workers
    survey, total, walk = Survey(), Scan(0, ZERO_HASH), file.walk()
    mmr, tree = Mmr(), Tree()
    pool = _pool(file, workers) if workers else None
    if pool is not None:
        cutter = _Cutter(pool)
        for chunk in walk:
            survey.add(chunk)
            cutter.add(chunk)
        cutter.finish()
        _join(file, total, mmr, tree, pool)
    else:
        for chunk in walk:
            survey.add(chunk)
            if total.fault is None:
                total.check(chunk)
        merge(mmr, tree, total)
    frames_hash, counts = survey.before_last()

    def frame_at(at: int) -> Frame | None:
        return file.frame_at(at) if at >= 0 else None

    return Facts(
        events=walk.count,
        end=walk.end or AT_FOOTER,
        end_at=walk.at,
        claim=walk.claim,
        fault=total.fault,
        withheld=total.withheld,
        root=mmr.root(),
        sha256_root=tree.root(),
        chain=total.chain,
        start=frame_at(file.first if walk.count else -1),
        run_end=frame_at(survey.run_end_at),
        last=frame_at(survey.last_at),
        last_at=survey.last_at,
        seals=survey.counts.get(SEAL, 0),
        frames_hash=frames_hash,
        counts=counts,
    )


def _workers_for(file: BundleFile) -> int:
    if file.size < LARGE:  # a small file does not pay for the import either
        return 0
    from hark.verify.parallel import spare_workers

    return spare_workers()


def _pool(file: BundleFile, workers: int) -> "Pool | None":
    """Return workers; None where the system has no room for them."""
    from hark.verify.parallel import Pool

    try:
        return Pool(file, workers)
    except OSError:
        return None


class _Cutter:
    """Cuts the frames of a walk into tasks of whole blocks."""

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool
        self._seq = 0
        self._begun: tuple[int, int, bytes] | None = None

    def add(self, chunk: Chunk) -> None:
        """Note where the chunk's blocks begin; submit what is large enough."""
        for index in range(-self._seq % BLOCK, len(chunk.starts), BLOCK):
            at, seq = chunk.at + chunk.starts[index], self._seq + index
            if self._begun is None or at - self._begun[0] >= SEGMENT_BYTES:
                self._submit(seq)
                self._begun = at, seq, chunk.heads[index][4]
        self._seq += len(chunk.starts)

    def finish(self) -> None:
        """Submit what is left."""
        self._submit(self._seq)

    def _submit(self, until: int) -> None:
        if self._begun is not None:
            at, seq, chain = self._begun
            self._pool.submit(at, seq, until - seq, chain)


def _join(file: BundleFile, total: Scan, mmr: Mmr, tree: Tree, pool: "Pool") -> None:
    """Put the segments together as if one scan had made them; after a fault the rest is only waited for."""
    for task, scan in pool.results():
        if total.fault is not None:
            continue
        if task.chain != total.chain:
            first = file.frame_at(task.offset)
            total.fault = Fault(task.seq, first.kind, task.offset, *splice(task.seq, first.seq))
            continue
        merge(mmr, tree, scan)
        total.withheld.extend(scan.withheld)
        total.seq, total.chain, total.fault = scan.seq, scan.chain, scan.fault
