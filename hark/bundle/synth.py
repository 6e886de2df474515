"""Made-up bundles, to try a verifier on: so many events of such a size, one of them corrupt, the end missing.

What always holds: the bundle is written by the real writer, and then spoilt as asked; its header and its
events say that it is synthetic. Time and randomness are fixed: the same arguments give the same bytes.
"""

import os
from collections.abc import Iterator
from typing import Final

from hark.bundle import outcome
from hark.bundle.events import Event, LlmResponseChunk, RunEnd, RunStart
from hark.bundle.frame import FRAME_HEAD
from hark.bundle.header import Header
from hark.bundle.tree_head import SigningKey
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.errors import UsageError
from hark.ids import RANDOM_BYTES, ulid

CREATED_AT: Final = 1_755_400_000_000_000_000
RUN_ID: Final = ulid(CREATED_AT, bytes(RANDOM_BYTES))
RECORDER: Final = "hark synth"
MIN_EVENTS: Final = 3  # RunStart, RunEnd, Seal
_EMPTY: Final = 28  # bytes of a LlmResponseChunk payload of some hundred bytes beside its data


def synthesize(path: str, events: int, size: int = 520, key: SigningKey | None = None) -> None:
    """Write a sealed bundle of `events` events; all but the first and the last two have `size` bytes."""
    if events < MIN_EVENTS:
        raise UsageError(f"a sealed bundle has at least {MIN_EVENTS} events: RunStart, RunEnd and Seal")
    ticks = iter(range(0, 1 << 62, 1000))
    header = Header(run_id=RUN_ID, created_at=CREATED_AT, recorder=RECORDER)
    with Writer.create(path, header, secret=b"synthetic", clock=lambda: next(ticks)) as writer:
        for event in _events(events - 1, size):
            writer.append(event)
        writer.seal(outcome.EXIT, key, signed_at=CREATED_AT + events * 1000)


def _events(count: int, size: int) -> Iterator[Event]:
    yield RunStart(run_id=RUN_ID, started_at=CREATED_AT, recorder=RECORDER)
    data = b"synthetic " * (size // 10 + 1)
    for seq in range(count - 2):
        yield LlmResponseChunk(seq=seq, data=data[: max(0, size - _EMPTY)], exchange=1)
    yield RunEnd(ended_at=CREATED_AT + count * 1000, reason=outcome.EXIT)


def corrupt(path: str, seq: int) -> None:
    """Flip one bit in the payload of event `seq`."""
    offset, length = _place(path, seq)
    if not length:
        raise UsageError(f"event {seq} of {path} has no payload to corrupt")
    at = offset + FRAME_HEAD.size + length // 2
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(fd, bytes((os.pread(fd, 1, at)[0] ^ 1,)), at)
    finally:
        os.close(fd)


def truncate(path: str, seq: int) -> None:
    """Cut the file in the middle of event `seq`, as if its writer had been killed there."""
    offset, length = _place(path, seq)
    os.truncate(path, offset + (FRAME_HEAD.size + length) // 2)


def _place(path: str, seq: int) -> tuple[int, int]:
    with BundleFile(path) as file:
        for index, placed in enumerate(file.frames()):
            if index == seq:
                return placed.offset, len(placed.frame.payload)
    raise UsageError(f"there is no event {seq} in {path}")
