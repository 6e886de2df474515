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


def test_folders_that_an_agent_closed_are_removed_and_its_links_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "mine").write_text("x")
    copies = tmp_path / "copies"
    copies.mkdir()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                for path in (tmp_path, copies, outside):
                    os.chown(path, 65534, 65534)
                for above in tmp_path.parents:
                    if above.name.startswith("pytest"):
                        os.chmod(above, 0o755)
                os.setresuid(65534, 65534, 65534)
            with Copy(str(copies), name()) as copy:
                (Path(copy.path) / "d/e").mkdir(parents=True)
                (Path(copy.path) / "d/e/out").symlink_to(outside)
                (Path(copy.path) / "d/out").symlink_to(outside)
                os.chmod(f"{copy.path}/d/e", 0)
                os.chmod(f"{copy.path}/d", 0)
        finally:
            os._exit(len(os.listdir(copies)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (outside / "mine").read_text() == "x"
    assert stat.S_IMODE(os.stat(outside).st_mode) == 0o750


def test_what_a_killed_replay_left_is_swept_and_what_is_held_is_not(tmp_path: Path):
    child = os.fork()
    if child == 0:
        Path(Copy(str(tmp_path), name()).path, "f").write_text("x")
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
