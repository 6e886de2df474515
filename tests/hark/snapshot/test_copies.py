"""Throw-away copies: nothing is left, also after SIGKILL."""

import os
import signal
import stat
import time
from pathlib import Path

import pytest

from hark.errors import UsageError
from hark.ids import ulid
from hark.snapshot.copies import Copy, beside, ready, sweep
from tests.launcher.rig import apart, project


def name() -> str:
    return ulid(time.time_ns(), os.urandom(10))


def test_a_copy_is_gone_afterwards_and_may_be_removed_twice(tmp_path: Path):
    with Copy(str(tmp_path), name()) as copy:
        assert os.listdir(copy.path) == []
        assert stat.S_IMODE(os.stat(os.path.dirname(copy.path)).st_mode) == 0o700
        (Path(copy.path) / "f").write_text("x")
        copy.remove()
        assert os.listdir(tmp_path) == []
    assert os.listdir(tmp_path) == []


def test_folders_that_an_agent_closed_are_removed_and_its_links_not_followed():
    def closed_and_removed() -> list[str]:
        (folder / "copies").mkdir()
        (folder / "outside").mkdir(mode=0o750)
        (folder / "outside/mine").write_text("x")
        with Copy(str(folder / "copies"), name()) as copy:
            (Path(copy.path) / "d/e").mkdir(parents=True)
            for place in ("d/e/out", "d/out"):
                (Path(copy.path) / place).symlink_to(folder / "outside")
            os.chmod(f"{copy.path}/d/e", 0)
            os.chmod(f"{copy.path}/d", 0)
        return os.listdir(folder / "copies")

    with project() as folder:
        assert apart(closed_and_removed) == []
        assert (folder / "outside/mine").read_text() == "x"
        assert stat.S_IMODE(os.stat(folder / "outside").st_mode) == 0o750


def test_what_a_killed_replay_left_is_swept_and_what_is_held_is_not(tmp_path: Path):
    child = os.fork()
    if child == 0:
        try:
            Path(Copy(str(tmp_path), name()).path, "f").write_text("x")
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(os.listdir(tmp_path)) == 2
    with Copy(str(tmp_path), name()) as held:
        assert sweep(str(tmp_path)) == 1
        assert os.path.isdir(held.path)
        assert sweep(str(tmp_path)) == 0
    assert os.listdir(tmp_path) == []


def test_nothing_of_another_name_is_swept(tmp_path: Path):
    (tmp_path / "notes.lock").write_text("x")
    (tmp_path / "notes").mkdir()
    assert sweep(str(tmp_path)) == 0
    assert sweep(str(tmp_path / "none")) == 0
    assert len(os.listdir(tmp_path)) == 2


def test_the_directory_is_made_for_its_owner_alone(tmp_path: Path):
    runs = tmp_path / "hark/runs"
    runs.mkdir(parents=True)
    path = ready(str(runs))
    assert path == beside(str(runs)) == str(tmp_path / "hark/copies")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    with pytest.raises(UsageError, match="cannot make a copy"):
        Copy(str(tmp_path / "nowhere"), name())


def test_a_copy_is_made_while_others_sweep(tmp_path: Path):
    """Another replay may take a lock that is just being made for nobody's."""
    sweeper = os.fork()
    if sweeper == 0:
        try:
            while True:
                sweep(str(tmp_path))
        finally:
            os._exit(1)
    try:
        for _ in range(500):
            with Copy(str(tmp_path), name()) as copy:
                assert os.path.isdir(copy.path)
    finally:
        os.kill(sweeper, signal.SIGKILL)
        os.waitpid(sweeper, 0)
