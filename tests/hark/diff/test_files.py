"""How files differ that two runs left: by line where bundles hold what stood in them, else by hash."""

import pytest
from blake3 import blake3

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.bundle.redact import redact
from hark.diff import files as module
from hark.diff import side as side_module
from hark.diff.align import rows
from hark.diff.detail import changes
from hark.diff.files import NO_CONTENT, Files
from hark.diff.side import Side
from hark.snapshot.archive import FILE, Entry
from hark.snapshot.collect import Packer
from hark.snapshot.contents import Contents
from hark.snapshot.stored import NAME, parts_of
from tests.support import recordings

PLACE = next(event.working_dir for _, event in recordings.recording() if isinstance(event, RunStart))
BEGAN = b"one\ntwo\nthree\n"


def digest(data):
    return blake3(data).digest()


def project(**files):
    packer = Packer()
    for name, data in files.items():
        packer.add(Entry(FILE, name.encode(), 0o644, 0, data))
    manifest = ev.FsManifest({name: digest(data) for name, data in files.items()}, PLACE)
    return manifest, *parts_of(packer.finish(), NAME)


def left(name, data, mode=0o100644, *, kept=True):
    contents = Contents(1 << 20)
    if kept:
        contents.take(digest(data), data)
    return ev.FileResult(name, mode, digest(data)), *contents.events()


def told(tmp_path, one, other):
    paths = [
        recordings.bundle(tmp_path / name, *events) for name, events in (("a.hark", one), ("b.hark", other))
    ]
    with Side(paths[0]) as a, Side(paths[1]) as b:
        found = rows(a.streams, b.streams)
        files = Files(found, a, b)
        return [change for row in found if not row.equal for change in changes(row, a, b, files)]


def test_a_file_that_both_left_otherwise_is_compared_by_line(tmp_path):
    (change,) = told(tmp_path, left("f", b"one\ntwo\n"), left("f", b"one\n2\x1b\n"))
    assert (change.where, change.words) == ("content", "differs")
    assert change.lines == ("@@ line 1", " one", "-two", "+2\\e", " ")


def test_what_one_run_left_alone_is_what_it_began_with(tmp_path):
    began = project(f=BEGAN)
    (change,) = told(tmp_path, began, (*began, *left("f", b"one\n2\nthree\n")))
    assert (change.words, change.lines[1:4]) == ("differs", (" one", "-two", "+2"))
    (change,) = told(tmp_path, (*began, *left("f", b"one\n2\nthree\n")), (*began, ev.FileResult("f", 0, b"")))
    assert (change.words, change.lines[1:4]) == ("is gone", ("-one", "-2", "-three"))


def test_a_file_that_one_run_alone_made_is_new(tmp_path):
    (change,) = told(tmp_path, (), left("n", b"line\n"))
    assert (change.words, "+line" in change.lines) == ("is new", True)


def test_modes_are_told_apart_from_content(tmp_path):
    (change,) = told(tmp_path, left("f", b"x"), left("f", b"x", 0o100755))
    assert change == ("mode", "was 0644 and is 0755", ())


@pytest.mark.parametrize("data", [b"\0", b"\xff"], ids=["binary", "not-text"])
def test_what_is_no_text_or_in_no_bundle_is_known_by_hash_alone(tmp_path, data):
    (change,) = told(tmp_path, left("f", b"x"), left("f", data))
    assert change == ("content", NO_CONTENT, ())
    (tmp_path / "again").mkdir()
    (change,) = told(tmp_path / "again", left("f", b"x"), left("f", b"y", kept=False))
    assert change == ("content", NO_CONTENT, ())


def test_content_counts_under_its_own_hash_alone(tmp_path):
    contents = Contents(1 << 20)
    contents.take(digest(b"claimed"), b"something else")
    lying = (ev.FileResult("f", 0o100644, digest(b"claimed")), *contents.events())
    (change,) = told(tmp_path, left("f", b"x"), lying)
    assert change == ("content", NO_CONTENT, ())


def test_an_archive_that_is_larger_than_one_reads_holds_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 50)
    (change,) = told(tmp_path, left("f", b"x"), left("f", b"y" * 100))
    assert change == ("content", NO_CONTENT, ())


def test_what_was_redacted_is_not_read_again(tmp_path):
    whole = recordings.bundle(tmp_path / "whole.hark", *left("f", b"one\n"))
    other = recordings.bundle(tmp_path / "other.hark", *left("f", b"two\n"))
    with Side(whole) as side:
        taken_out = [
            seq for seq in range(side.verified.events) if isinstance(side._again(seq)[2], ev.Snapshot)
        ]
    redact(whole, taken_out, copy := str(tmp_path / "copy.hark"))
    for path, words in ((whole, "differs"), (copy, NO_CONTENT)):
        with Side(path) as a, Side(other) as b:
            found = rows(a.streams, b.streams)
            (row,) = [row for row in found if not row.equal]
            (change,) = changes(row, a, b, Files(found, a, b))
            assert (change.where, change.words) == ("content", words)


def test_what_the_files_held_is_decoded_once(tmp_path, monkeypatch):
    """Two files differ: each event that holds them, and each manifest, is decoded once on either side."""
    began = project(f=BEGAN, g=BEGAN)
    one = [*began, *left("f", b"one\n2\n")]
    other = [*began, *left("g", b"one\n3\n")]
    paths = [
        recordings.bundle(tmp_path / name, *events) for name, events in (("a.hark", one), ("b.hark", other))
    ]
    decoded, decode = [], ev.decode_frame

    def noted(frame):
        decoded.append(frame.kind)
        return decode(frame)

    with Side(paths[0]) as a, Side(paths[1]) as b:
        found = rows(a.streams, b.streams)
        files = Files(found, a, b)
        monkeypatch.setattr(side_module.ev, "decode_frame", noted)
        told = [change for row in found if not row.equal for change in changes(row, a, b, files)]
    assert [change.words for change in told] == ["differs", "differs"]
    held = sum(isinstance(event, ev.Snapshot) for event in (*one, *other))
    assert held > 2
    assert decoded.count(38) == held
    assert decoded.count(4) == 2
