"""Large pieces are read again from the bundle, and only as they were when it was verified."""

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.bundle.walk import BundleFile
from hark.errors import BundleError
from hark.rerun.contents import LARGE, Contents
from tests.support.recordings import bundle

PIECES = (b"a" * LARGE, b"small", b"c" * (LARGE + 7), b"d" * (LARGE - 1))


def chunks(path: Path, *pieces: bytes) -> str:
    return bundle(
        path, *(ev.LlmResponseChunk(seq=at, data=data, exchange=1) for at, data in enumerate(pieces))
    )


def kept(path: str, contents: Contents) -> Iterator[tuple[int, ev.LlmResponseChunk]]:
    with BundleFile(path) as file:
        for placed in file.frames():
            event = ev.decode(placed.frame.kind, placed.frame.payload)
            if isinstance(found := contents.aside(placed, event), ev.LlmResponseChunk):
                yield placed.frame.seq, found


def test_what_is_large_is_read_again_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = chunks(tmp_path / "run.hark", *PIECES)
    contents = Contents(path)
    found = list(kept(path, contents))
    assert [event.data for _, event in found] == [b"", PIECES[1], b"", PIECES[3]]
    assert [contents.of(seq) for seq, _ in found] == [PIECES[0], None, PIECES[2], None]
    contents.close()


def test_memory_does_not_grow_with_what_the_answers_carried(tmp_path: Path) -> None:
    path = chunks(tmp_path / "run.hark", *(os.urandom(1 << 20) for _ in range(16)))
    contents = Contents(path)
    tracemalloc.start()
    try:
        found = list(kept(path, contents))
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == 16
    assert now < 1 << 20
    contents.close()


@pytest.mark.attack
def test_a_file_that_was_changed_meanwhile_gives_nothing(tmp_path: Path) -> None:
    path = chunks(tmp_path / "run.hark", *PIECES)
    contents = Contents(path)
    first, *_ = kept(path, contents)
    data = bytearray(Path(path).read_bytes())
    at = data.index(PIECES[0])
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(b"b")
    with pytest.raises(BundleError, match=f"event {first[0]} is another"):
        contents.of(first[0])
    contents.close()
