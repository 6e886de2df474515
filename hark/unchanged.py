"""The frames of a bundle that was verified, read again: those that were verified, or none.

A replay reads its bundle several times: who may run it is decided on what the first reading showed, and the
project, the input and the answers are taken from later ones. Whoever can write the file, or its directory,
may put another in its place at any time between, while a person thinks about the question above all. So
every reading checks each frame's leaf, the chain and the times again, and that it ends as the verified one.

Always: a reading that is carried to its end without a ReplayError has yielded what was verified. Nothing may
be started from one that was not: `through` is for those that stop early.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from hark.bundle.bounds import SEAL, SEAL_KIND, decode_as
from hark.bundle.frame import Frame
from hark.bundle.hashing import ZERO_HASH
from hark.bundle.walk import BundleFile, Chunk, Placed
from hark.errors import BundleError, ReplayError
from hark.verify.facts import Survey
from hark.verify.result import Result
from hark.verify.scan import Scan


class Unchanged:
    """One bundle as it was verified. It may be read any number of times."""

    def __init__(self, path: str, verified: Result) -> None:
        self.path: Final = path
        self._verified = verified
        self._heads: bytes | None = None
        """What the first reading found of kinds and times: a record that breaks off has no Seal to ask."""

    def frames(self) -> Iterator[Frame]:
        """Yield the verified frames. Raises ReplayError at the first that is another, or at the end."""
        for chunk in self.chunks():
            yield from chunk.frames()

    def placed(self) -> Iterator[Placed]:
        """As `frames`, and where each of them starts."""
        for chunk in self.chunks():
            for start, frame in zip(chunk.starts, chunk.frames(), strict=True):
                yield Placed(chunk.at + start, frame)

    def chunks(self) -> Iterator[Chunk]:
        """As `frames`, many at a time."""
        span = self.span(0, ZERO_HASH)
        for chunk in self.skimmed():
            span.add(chunk)
            yield chunk
        self.ends(span.end())

    def skimmed(self) -> Iterator[Chunk]:
        """As `chunks`, for whoever has others check these bytes, all of them, by `span`s that join."""
        survey = Survey()
        last: Chunk | None = None
        with self.opened() as file:
            for chunk in file.walk(limit=self._verified.events):
                survey.add(chunk)
                last = chunk
                yield chunk
        self._check_heads(survey, None if last is None else last.frame(-1))

    def span(self, seq: int, chain: bytes) -> "Span":
        """Return the check of frames that follow one another, from that number and chain value on."""
        return Span(self, Scan(seq, chain, rooted=False))

    def ends(self, chain: bytes) -> None:
        """Raise ReplayError where the chain value behind the last frame is another than was verified."""
        if chain != self._verified.final_chain:
            raise self.changed()

    def withholds(self, numbers: Iterable[int]) -> None:
        """Raise ReplayError where a payload is missing that was there when the bundle was verified."""
        if not set(numbers) <= set(self._verified.redacted):
            raise self.changed()

    @contextmanager
    def through(self) -> Iterator[Iterator[Frame]]:
        """Give the frames to whoever may stop early; what they left is read, and checked, at the end."""
        frames = self.frames()
        yield frames
        for _ in frames:
            pass

    def opened(self) -> BundleFile:
        """Return the file that is there now, of which nothing is known."""
        try:
            return BundleFile(self.path)
        except BundleError:
            raise self.changed() from None

    def _check_heads(self, survey: Survey, last: Frame | None) -> None:
        if last is None:
            return
        heads = survey.before_last()[0] + last.time.to_bytes(8)
        if self._heads not in {None, heads} or (last.kind == SEAL and not self._seals(last, heads[:-8])):
            raise self.changed()
        self._heads = heads

    def _seals(self, last: Frame, heads: bytes) -> bool:
        try:
            sealed: bytes = decode_as(SEAL_KIND, last.payload).frames_hash
        except BundleError:  # of `skimmed` frames nobody has checked it
            return False
        return sealed == heads

    def changed(self) -> ReplayError:
        """Return what is raised where it is another one by now."""
        return ReplayError(f"{self.path} was changed while it was read; nothing is replayed from it")


class Span:
    """The check of frames that follow one another: leaves, chain, numbers, and whose payload may be gone."""

    def __init__(self, file: Unchanged, scan: Scan) -> None:
        self._file, self._scan = file, scan

    def add(self, chunk: Chunk) -> None:
        """Take the next frames. Raises ReplayError where one of them is at fault."""
        if not self._scan.check(chunk):
            raise self._file.changed()

    def end(self) -> bytes:
        """Return the chain value behind the last frame. Raises ReplayError where a payload is missing."""
        self._file.withholds(self._scan.withheld)
        return self._scan.chain
