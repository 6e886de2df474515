"""Reading a bundle from its beginning, event by event, while checking what can be checked on the way.

What always holds: an event is handed out only if its sequence number, its chain value and its leaf are
right; at the first that is not, reading stops and `fault` says which event and what is wrong with it. An
event whose payload was taken out is handed out as `None`, and is a fault if a sealed bundle's footer does
not list it. A bundle that is being written can be followed to its seal, or until its writer is gone.

Not done here: root, signature, seal and pinned keys, which need the whole file (`hark.verify`).
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.bounds import kind_name
from hark.bundle.disk import is_locked
from hark.bundle.frame import FRAME_OVERHEAD, Frame, unpack
from hark.bundle.hashing import ZERO_HASH, chain_hash, leaf_hash
from hark.bundle.header import decode_footer
from hark.bundle.walk import AT_CLAIM, AT_FOOTER, BundleFile
from hark.errors import BundleError

POLL: Final = 0.1  # seconds between two looks at a bundle that is being written

SEALED: Final = "sealed"
RUNNING: Final = "running"
KILLED: Final = "killed"
BROKEN: Final = "broken"


class Seen(NamedTuple):
    """One event that held, with its place. `event` is None if its payload was taken out."""

    seq: int
    time: int
    kind: int
    payload: bytes
    leaf: bytes
    event: ev.Event | ev.Unknown | None


class Reading:
    """Iterate over the events; afterwards `end` is one of the four words above, `fault` what broke."""

    def __init__(
        self, file: BundleFile, *, follow: bool = False, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._file = file
        self._follow = follow
        self._wait = wait
        self._seq = 0
        self._chain = ZERO_HASH
        self._taken_out: list[int] = []
        self.end = RUNNING
        self.fault = ""

    def __iter__(self) -> Iterator[Seen]:
        at = self._file.first
        while True:
            alive = is_locked(
                self._file.fd
            )  # asked before the size is: what a dead writer wrote is all there
            self._file.size = os.fstat(self._file.fd).st_size
            walk = self._file.walk(at)
            for chunk in walk:
                for start, head in zip(chunk.starts, chunk.heads, strict=True):
                    frame = _cut_out(chunk.data, start, head[0])
                    seen = self._check(frame)
                    if seen is None:
                        return
                    yield seen
            at = walk.at
            if self._ended(walk.end, walk.claim, at, alive=alive):
                return
            self._wait(POLL)

    def _ended(self, end: str | None, claim: int, at: int, *, alive: bool) -> bool:
        """Whether there is nothing more to come; sets `end`."""
        if end == AT_CLAIM:
            self._break(f"event {self._seq} claims {claim} bytes, more than format 1 allows")
            return True
        if end == AT_FOOTER and (footer := self._file.footer_block(at)) is not None:
            self._close(footer)
            return True
        self.end = RUNNING if alive else KILLED
        return not (alive and self._follow)

    def _close(self, data: bytes) -> None:
        try:
            footer = decode_footer(data)
        except BundleError as error:
            self._break(f"the footer cannot be read: {error}")
            return
        unlisted = [seq for seq in self._taken_out if seq not in footer.redacted]
        if unlisted:
            self._break(
                f"event {unlisted[0]} was edited: its payload is gone, and the footer does not say so"
            )
        elif footer.leaf_count != self._seq:
            self._break(f"the footer speaks of {footer.leaf_count} events, and there are {self._seq}")
        else:
            self.end = SEALED

    def _check(self, frame: Frame) -> Seen | None:
        """The event, or None after noting what is wrong with it."""
        place = f"event {self._seq}"
        if frame.seq != self._seq or frame.chain != self._chain:
            self._break(f"{place} does not follow the one before it: it was spliced in, or one was taken out")
            return None
        leaf = leaf_hash(frame.seq, frame.kind, frame.payload)
        event = None
        if leaf != frame.leaf and frame.payload:
            self._break(
                f"{place} ({kind_name(frame.kind)}) was edited: its payload does not match its leaf hash"
            )
            return None
        if leaf != frame.leaf:
            self._taken_out.append(frame.seq)
        else:
            try:
                event = ev.decode(frame.kind, frame.payload)
            except BundleError as error:
                self._break(f"{place} ({kind_name(frame.kind)}) cannot be read: {error}")
                return None
        self._seq += 1
        self._chain = chain_hash(self._chain, frame.leaf)
        return Seen(frame.seq, frame.time, frame.kind, frame.payload, frame.leaf, event)

    def _break(self, fault: str) -> None:
        self.end = BROKEN
        self.fault = fault


def _cut_out(data: bytes, start: int, length: int) -> Frame:
    """One frame of a chunk."""
    frame = unpack(data[start : start + FRAME_OVERHEAD + length])
    if frame is None:
        raise BundleError("a chunk ends inside a frame")
    return frame
