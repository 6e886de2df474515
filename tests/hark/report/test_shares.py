"""A list that is made in shares is the one that one process makes."""

import io
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hark.bundle import events as ev
from hark.bundle.walk import BundleFile
from hark.errors import ReplayError
from hark.report import shares
from hark.report.listing import GROUP, write
from hark.report.shares import Marks, Shares
from hark.unchanged import Unchanged
from hark.verify.steps import verify
from tests.support.recordings import bundle

MANY = 7 * GROUP + 3


@pytest.fixture
def path(tmp_path: Path) -> str:
    return bundle(tmp_path / "run.hark", *[ev.DnsQuery(f"{at % 9}.example", "A", at) for at in range(MANY)])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "EVENTS", 2 * GROUP)


def alone(path: str) -> bytes:
    verified, out = verify(path), io.BytesIO()
    write(out, Unchanged(path, verified).frames(), "run.hark", verified.events)
    return out.getvalue()


def listed(path: str, workers: int) -> bytes:
    verified = verify(path)
    with ExitStack() as files, Shares(Unchanged(path, verified), "run.hark", verified.events, files) as made:
        made.start(workers)
        return b"".join(_all(made))


def _all(made: Shares) -> Iterator[bytes]:
    for _ in made.chunks():
        pass
    return made.listed()


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_however_many_list_the_bytes_are_the_same(path: str, workers: int) -> None:
    by_one = alone(path)
    assert listed(path, workers) == by_one
    numbers = [int(found) for found in re.findall(rb'id="e(\d+)"', by_one)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > MANY


def test_one_share_may_hold_all(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "EVENTS", 100 * GROUP)
    assert listed(path, 1) == alone(path)


def test_a_system_without_processes_or_pipes_has_the_list_made_here(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> NoReturn:
        raise BlockingIOError("no more")

    by_one = alone(path)
    for name in ("fork", "pipe"):
        monkeypatch.setattr(os, name, refused)
        assert listed(path, 2) == by_one


@pytest.mark.parametrize("after", [0, 1])
def test_a_process_that_dies_takes_nothing_with_it(
    path: str, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """It dies with a share that it took and half wrote, while this process waits for it to have taken one."""
    list_share, here, left = Shares._list, os.getpid(), [after]
    ready, tell = os.pipe()

    def torn(self: Shares, file: BundleFile, number: int, out: Any, *where: Any) -> Any:
        if os.getpid() != here:
            if not left[0]:
                out.write(b"torn")
                out.flush()
                os.write(tell, b".")
                os._exit(1)
            left[0] -= 1
        return list_share(self, file, number, out, *where)

    by_one, verified = alone(path), verify(path)
    monkeypatch.setattr(Shares, "_list", torn)
    with ExitStack() as files, Shares(Unchanged(path, verified), "run.hark", verified.events, files) as made:
        made.start(1)
        assert os.read(ready, 1) == b"."
        assert b"".join(_all(made)) == by_one
    os.close(ready)
    os.close(tell)


@pytest.mark.parametrize("forged", ["for nobody", "for the other", "for this one"])
def test_what_any_process_read_must_be_what_was_verified(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    """Another file, sound in itself, lies there while one of two processes reads, and is gone for the other."""
    other = bundle(tmp_path / "other.hark", *[ev.DnsQuery("evil.example", "A", at) for at in range(MANY)])
    here, opened, by_one, verified = os.getpid(), Unchanged.opened, alone(path), verify(path)
    ready, tell = os.pipe()

    def another(self: Unchanged) -> BundleFile:
        mine = "for this one" if os.getpid() == here else "for the other"
        return BundleFile(other) if mine == forged else opened(self)

    def told(self: Shares) -> Iterator[int]:
        yield from tasks(self)
        if os.getpid() != here:
            os.write(tell, b".")

    changed = pytest.raises(ReplayError, match="changed")
    ended: AbstractContextManager[object] = nullcontext() if forged == "for nobody" else changed
    tasks = Shares._tasks
    monkeypatch.setattr(Unchanged, "opened", another)
    monkeypatch.setattr(Shares, "_tasks", told)
    with ExitStack() as files, Shares(Unchanged(path, verified), "run.hark", verified.events, files) as made:
        made.start(1)
        assert os.read(ready, 1) == b"."
        with ended:
            assert b"".join(_all(made)) == by_one
    os.close(ready)
    os.close(tell)


def test_digests_do_not_depend_on_how_the_file_is_read(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for size in (1 << 18, 999):
        monkeypatch.setattr("hark.bundle.walk.CHUNK", size)
        marks = Marks(300)
        with BundleFile(path) as file:
            for chunk in file.walk():
                marks.add(chunk)
        marks.finish()
        found.append((marks.places, marks.digests))
    assert found[0] == found[1]
    assert len(set(found[0][1])) == len(found[0][0]) == -(-(MANY + 6) // 300)
