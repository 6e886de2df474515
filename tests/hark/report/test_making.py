"""One reading makes facts, links, conversation and list."""

import io
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.bundle.frame import FRAME_HEAD, Frame
from hark.bundle.walk import Chunk
from hark.errors import BundleError, ReplayError
from hark.report import making
from hark.report.making import Made, make, pieces
from hark.unchanged import Unchanged
from hark.verify.steps import verify
from tests.hark.report.story import events, made
from tests.support.recordings import bundle


def chunk(frame: Frame) -> Chunk:
    head = (len(frame.payload), frame.kind, frame.seq, frame.time, frame.chain)
    return Chunk(0, FRAME_HEAD.pack(*head) + frame.payload + frame.leaf, [0], [head])


def test_one_reading_gives_all_parts(tmp_path: Path) -> None:
    talk, listed = io.BytesIO(), io.BytesIO()
    read = made(tmp_path / "run.hark", talk=talk, listed=listed)
    assert read.facts.exchanges == 3
    assert read.links.found
    assert talk.getvalue().count(b"<article") == 2
    assert b'id="e0"' in listed.getvalue()
    assert b"".join(pieces(talk)) == talk.getvalue()


@pytest.mark.parametrize(("kind", "listed"), [(2, None), (3, io.BytesIO())], ids=["taken", "listed"])
def test_an_event_that_was_taken_out_is_none_and_one_that_cannot_be_read_is_named(
    kind: int, listed: io.BytesIO | None
) -> None:
    empty = Frame(kind, 5, 0, bytes(32), b"", bytes(32))
    read = Made(listed=listed)
    read.read([chunk(empty)])
    assert (read.facts.events, read.facts.kinds[kind]) == (1, 1)
    with pytest.raises(BundleError, match="event 5"):
        read.read([chunk(empty._replace(payload=b"\xff"))])


def test_what_nothing_is_made_of_is_counted_and_not_read() -> None:
    read = Made()
    read.read([chunk(Frame(3, 5, 7, bytes(32), b"\xff", bytes(32)))])
    assert (read.facts.kinds[3], read.facts.last_ns) == (1, 7)


def test_a_run_without_steps_has_all_else(tmp_path: Path) -> None:
    with_steps, without = made(tmp_path / "a.hark"), made(tmp_path / "b.hark", steps=False)
    assert with_steps.facts.steps
    assert not without.facts.steps
    assert without.facts.bars == with_steps.facts.bars
    assert without.facts.denials == with_steps.facts.denials


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_however_many_processes_make_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(making, "PAYS", 1)
    path = bundle(tmp_path / "run.hark", *events())
    verified = verify(path)
    monkeypatch.setattr(making, "spare_workers", lambda: 0)
    with ExitStack() as files:
        alone = make(Unchanged(path, verified), "run.hark", verified.events, files)
        expected = [b"".join(part) for part in (alone.talk, alone.listed)]
    monkeypatch.setattr(making, "spare_workers", lambda: workers)
    with ExitStack() as files:
        whole = make(Unchanged(path, verified), "run.hark", verified.events, files)
        assert [b"".join(part) for part in (whole.talk, whole.listed)] == expected
        assert whole.made.facts == alone.made.facts
    assert expected[1].endswith(b"</details>")


def test_a_bundle_that_became_another_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, fork = list[int](), os.fork

    def noted() -> int:
        if pid := fork():
            started.append(pid)
        return pid

    monkeypatch.setattr(making, "PAYS", 1)
    monkeypatch.setattr(making, "spare_workers", lambda: 1)
    monkeypatch.setattr(os, "fork", noted)
    path = bundle(tmp_path / "run.hark", *events())
    verified = verify(path)
    bundle(tmp_path / "other.hark", *events(obeys=False))
    os.replace(tmp_path / "other.hark", path)
    with ExitStack() as files, pytest.raises(ReplayError):
        make(Unchanged(path, verified), "run.hark", verified.events, files)
    (pid,) = started
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


def test_an_event_that_only_the_list_reads_ends_it_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "PAYS", 1)
    monkeypatch.setattr(making, "spare_workers", lambda: 1)
    path = bundle(tmp_path / "run.hark", ev.Unknown(3, b"\xff"))
    verified = verify(path)
    with ExitStack() as files, pytest.raises(BundleError, match="EnvSnapshot"):
        make(Unchanged(path, verified), "run.hark", verified.events, files)
