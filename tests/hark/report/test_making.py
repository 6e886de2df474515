"""One reading makes facts, links, conversation and list."""

import io
import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, NoReturn

import pytest

from hark.bundle.frame import Frame
from hark.errors import BundleError, ReplayError
from hark.report import making
from hark.report.making import Made, make, pieces
from hark.unchanged import Unchanged
from hark.verify.steps import verify
from tests.hark.report.story import events, made
from tests.support.recordings import bundle


def test_one_reading_gives_all_parts(tmp_path: Path) -> None:
    talk, listed = io.BytesIO(), io.BytesIO()
    read = made(tmp_path / "run.hark", talk=talk, listed=listed)
    assert read.facts.exchanges == 3
    assert read.links.found
    assert talk.getvalue().count(b"<article") == 2
    assert b'id="e0"' in listed.getvalue()
    assert b"".join(pieces(talk)) == talk.getvalue()


def test_an_event_that_was_taken_out_is_none_and_one_that_cannot_be_read_is_named() -> None:
    empty = Frame(3, 5, 0, bytes(32), b"", bytes(32))
    read = Made()
    read.read([empty])
    assert (read.facts.events, read.facts.kinds[3]) == (1, 1)
    with pytest.raises(BundleError, match="event 5"):
        read.read([empty._replace(payload=b"\xff")])


def parts(path: str) -> tuple[bytes, bytes, int]:
    """Conversation, list of events, and how many exchanges the facts count."""
    verified = verify(path)
    with TemporaryFile() as talk, TemporaryFile() as listed:
        read = make(Unchanged(path, verified), "run.hark", verified.events, talk, listed)
        return b"".join(pieces(talk)), b"".join(pieces(listed)), read.facts.exchanges


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that were made; there is room for one."""
    started: list[int] = []
    fork = os.fork

    def noted() -> int:
        if pid := fork():
            started.append(pid)
        return pid

    monkeypatch.setattr(making, "PAYS", 1)
    monkeypatch.setattr(making, "spare_workers", lambda: 1)
    monkeypatch.setattr(os, "fork", noted)
    return started


def _refused() -> int:
    raise BlockingIOError("no more processes")


def test_two_processes_make_what_one_makes(
    tmp_path: Path, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bundle(tmp_path / "run.hark", *events())
    by_two = parts(path)
    assert len(forked) == 1
    monkeypatch.setattr(os, "fork", _refused)
    assert parts(path) == by_two
    monkeypatch.setattr(making, "spare_workers", lambda: 0)
    assert parts(path) == by_two
    assert len(forked) == 1
    assert by_two[1].endswith(b"</details>")


def test_a_process_that_ends_early_takes_nothing_with_it(
    tmp_path: Path, forked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bundle(tmp_path / "run.hark", *events())
    whole = parts(path)

    def torn(_bundle: object, _name: str, _events: int, listed: BinaryIO) -> NoReturn:
        os.write(listed.fileno(), b"torn")
        os._exit(1)

    monkeypatch.setattr(making, "_list_and_leave", torn)
    assert parts(path) == whole
    assert len(forked) == 2


def test_a_bundle_that_became_another_leaves_no_process_behind(tmp_path: Path, forked: list[int]) -> None:
    path = bundle(tmp_path / "run.hark", *events())
    verified = verify(path)
    bundle(tmp_path / "other.hark", *events(obeys=False))
    os.replace(tmp_path / "other.hark", path)
    with TemporaryFile() as talk, TemporaryFile() as listed, pytest.raises(ReplayError):
        make(Unchanged(path, verified), "run.hark", verified.events, talk, listed)
    (pid,) = forked
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)
