"""Bundles to try readers on: a small one that the real writer made, and parts to build others of."""

import json
import pathlib
from typing import Any, Final

from blake3 import blake3

from hark.bundle import frame
from hark.bundle.bounds import SEAL_KIND, encode_as
from hark.bundle.events import (
    EgressAttempt,
    EgressDecision,
    Event,
    LlmRequest,
    RunEnd,
    RunStart,
    Seal,
    encode,
    kind_of,
)
from hark.bundle.hashing import ZERO_HASH, chain_hash, leaf_hash
from hark.bundle.header import Footer, Header, encode_footer, encode_header
from hark.bundle.mmr import Mmr
from hark.bundle.tree_head import SigningKey, sign
from hark.bundle.writer import Writer

RUN: Final = "01J8X00000000000000000TEST"
KEY: Final = SigningKey(bytes(range(32)))
OTHER_KEY: Final = SigningKey(bytes(32))
HEADER: Final = Header(run_id=RUN, created_at=5, recorder="hark test", policy_hash=b"p" * 32)
VECTORS: Final = pathlib.Path(__file__).parents[2] / "vectors"

EVENTS: Final[tuple[Event, ...]] = (
    RunStart(run_id=RUN, recorder="hark test", argv=("true",)),
    LlmRequest(host="a.example", method="GET", path="/", headers={"A": "b"}, exchange=1),
    EgressAttempt(host="evil.example", port=443, protocol="tcp"),
    EgressDecision(host="evil.example", rule="allow_hosts", reason="not allowed"),
    RunEnd(ended_at=9, reason="exit"),
)


def vectors(name: str) -> Any:
    """The vectors of that name."""
    return json.loads((VECTORS / f"{name}.json").read_text())


def ticking(step: int = 1000) -> Any:
    """A clock that goes on by `step` each time that it is read."""
    now = iter(range(0, 1 << 62, step))
    return lambda: next(now)


def write(
    path: pathlib.Path, events: tuple[Event, ...] = EVENTS, *, key: SigningKey | None = KEY
) -> pathlib.Path:
    """A sealed bundle, the same bytes every time."""
    with Writer.create(str(path), HEADER, secret=b"s", clock=ticking()) as writer:
        for event in events:
            writer.append(event)
        writer.seal("exit", key, signed_at=77)
    return path


def raw_frames(events: list[tuple[int, int, bytes]]) -> tuple[bytes, Mmr, bytes]:
    """Frames of (kind, time, payload), written without the writer: bytes, range, final chain value."""
    out, mmr, chain = b"", Mmr(), ZERO_HASH
    for seq, (kind, time, payload) in enumerate(events):
        leaf = leaf_hash(seq, kind, payload)
        out += frame.pack(frame.Frame(kind, seq, time, chain, payload, leaf))
        chain = chain_hash(chain, leaf)
        mmr.append(leaf)
    return out, mmr, chain


def another_writers(path: pathlib.Path, events: list[tuple[int, int, bytes]], **changes: Any) -> pathlib.Path:
    """A valid version 1 bundle without hark's additions; `changes` are to the footer."""
    frames, mmr, chain = raw_frames(events)
    footer = Footer(mmr.count, mmr.root(), chain, sign(KEY, RUN, mmr.count, mmr.root(), 77))._replace(
        **changes
    )
    return assemble(path, encode_header(HEADER), frames, footer)


def assemble(
    path: pathlib.Path, header: bytes, frames: bytes, footer: Footer | None, tail: bytes = b""
) -> pathlib.Path:
    """A bundle file out of its parts."""
    data = frame.MAGIC + frame.block(header) + frames
    if footer is not None:
        data += frame.LENGTH.pack(frame.FOOTER_SENTINEL) + frame.block(encode_footer(footer))
    path.write_bytes(data + tail)
    return path


def plain(events: tuple[Event, ...] = EVENTS) -> list[tuple[int, int, bytes]]:
    """`events` as another writer would have them: no salt, no header hash."""
    return [(kind_of(event), 10 * index, encode(event)) for index, event in enumerate(events)]


def sealed(events: list[tuple[int, int, bytes]], **changes: Any) -> list[tuple[int, int, bytes]]:
    """`events` with a Seal over them, changed as asked."""
    hasher, counts = blake3(), {}
    for seq, (kind, time, _) in enumerate(events):
        hasher.update(kind.to_bytes(1) + seq.to_bytes(8) + time.to_bytes(8))
        counts[kind] = counts.get(kind, 0) + 1
    time = 10 * len(events)
    seal = Seal(hasher.digest(), counts, "exit", time)._replace(**changes)
    return [*events, (32, time, encode_as(SEAL_KIND, seal))]
