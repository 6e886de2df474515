import os

import pytest

from hark.bundle import frame, walk
from hark.bundle.events import LlmResponseChunk
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, TruncatedError
from tests.hark.bundle.bundles import EVENTS, HEADER, assemble, raw_frames, write


def test_every_frame_is_walked_over_and_the_end_is_the_footer(tmp_path):
    with BundleFile(str(write(tmp_path / "b"))) as file:
        assert file.header == HEADER
        placed = list(file.frames())
        assert [one.frame.seq for one in placed] == list(range(len(EVENTS) + 1))
        assert placed[0].offset == file.first
        assert [file.frame_at(one.offset) for one in placed] == [one.frame for one in placed]
        last = file.walk()
        assert sum(len(chunk.starts) for chunk in last) == len(placed)
        assert last.end == walk.AT_FOOTER
        assert file.footer_block(last.at) is not None


@pytest.mark.parametrize("size", [64, 100, 1000, 1 << 20])
def test_frames_are_the_same_whatever_the_size_of_a_chunk(tmp_path, monkeypatch, size):
    events = [(6, index, bytes(index * 7)) for index in range(60)]
    path = assemble(tmp_path / "b", b"\xa0", raw_frames(events)[0], None)
    monkeypatch.setattr(walk, "CHUNK", size)
    with BundleFile(str(path)) as file:
        frames = [placed.frame for placed in file.frames()]
        assert [(one.kind, one.time, one.payload) for one in frames] == events
        limited = file.walk(limit=7)
        assert sum(len(chunk.starts) for chunk in limited) == 7
        assert limited.end is None
        chunks = list(file.walk(limited.at))
        assert sum(len(chunk.starts) for chunk in chunks) == 53


@pytest.mark.parametrize(
    ("tail", "end"),
    [
        (b"", walk.AT_END),
        (b"\x00", walk.IN_FRAME),
        (b"\xff\xff\xff", walk.IN_FRAME),
        (b"\xff\xff\xff\xff", walk.AT_FOOTER),
        (b"\xff\xff\xff\xfe", walk.AT_CLAIM),
        ((frame.MAX_PAYLOAD + 1).to_bytes(4), walk.AT_CLAIM),
        (frame.MAX_PAYLOAD.to_bytes(4) + bytes(80), walk.IN_FRAME),
    ],
)
@pytest.mark.parametrize("events", [0, 3])
def test_a_walk_says_why_it_ended(tmp_path, tail, end, events):
    frames = raw_frames([(6, 0, b"abc")] * events)[0]
    path = assemble(tmp_path / "b", b"\xa0", frames, None, tail)
    with BundleFile(str(path)) as file:
        steps = file.walk()
        assert sum(len(chunk.starts) for chunk in steps) == events
        assert steps.end == end
        assert steps.at == file.size - len(tail)
        if end == walk.AT_FOOTER:
            assert file.footer_block(steps.at) is None


def test_a_claim_of_64_mib_in_a_small_file_allocates_nothing_like_it(tmp_path):
    import tracemalloc

    path = assemble(tmp_path / "b", b"\xa0", b"", None, frame.MAX_PAYLOAD.to_bytes(4) + bytes(100))
    tracemalloc.start()
    with BundleFile(str(path)) as file:
        assert list(file.frames()) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not a bundle: it is empty"),
        (b"PK\x03\x04zip", "does not begin with HARK"),
        (b"HARK\x02\x00\x00\x00\x01\xa0", "version 2"),
        (b"HARK\x01\xff\xff\xff\xff", "claims 4294967295 bytes"),
        (b"HARK\x01\x00\x00\x00\x01\xf6", "not a map"),
        (b"HARK\x01\x00\x00\x00\x02\xa0\x00", "follow the value"),
        (b"HARK\x01\x00\x00\x00\x03\xa1\x01\x05", "not text"),
    ],
)
def test_what_is_no_bundle_is_refused_in_words(tmp_path, data, words):
    (tmp_path / "b").write_bytes(data)
    with pytest.raises(BundleError, match=words):
        BundleFile(str(tmp_path / "b"))


@pytest.mark.parametrize("size", range(1, 10))
def test_a_file_that_ends_inside_its_header_is_truncated(tmp_path, size):
    (tmp_path / "b").write_bytes(b"HARK\x01\x00\x00\x00\x02\xa0"[:size])
    with pytest.raises(TruncatedError, match="ends inside its header"):
        BundleFile(str(tmp_path / "b"))


def test_a_missing_file_a_directory_and_a_fifo_are_bundle_errors_and_do_not_hang(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, words in (
        (tmp_path / "none", "No such file"), (tmp_path, "directory"), (tmp_path / "fifo", "it is a pipe"),
        ("/dev/zero", "it is a device"), ("nul\0name", "null"),
    ):  # fmt: skip
        with pytest.raises(BundleError, match=words) as caught:
            BundleFile(str(path))
        assert not isinstance(caught.value, TruncatedError)


def test_a_file_that_grows_meanwhile_is_read_as_far_as_it_reached(tmp_path):
    from hark.bundle.writer import Writer

    with Writer.create(str(tmp_path / "b"), HEADER) as writer:
        writer.append(EVENTS[0])
        with BundleFile(str(tmp_path / "b")) as file:
            writer.append(LlmResponseChunk(data=b"later"))
            assert len(list(file.frames())) == 1
        with BundleFile(str(tmp_path / "b")) as file:
            assert len(list(file.frames())) == 2


def test_a_file_that_shrinks_meanwhile_ends_the_walk_without_a_traceback(tmp_path):
    path = write(tmp_path / "b")
    with BundleFile(str(path)) as file:
        os.truncate(path, file.first + 100)
        steps = file.walk()
        list(steps)
        assert steps.end in {walk.IN_FRAME, walk.AT_END}
