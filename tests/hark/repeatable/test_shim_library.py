"""The library of the shims: built once, by the system's compiler alone, and missed without harm."""

import errno
import os
import subprocess
import threading
from pathlib import Path

import pytest

from hark.repeatable import shim_library
from hark.repeatable.shim_library import NoLibraryError, found, library
from launcher.doctor import State
from tests.support.waiting import until


def compiler(folder: Path, script: str, name: str = "cc") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def only(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(shim_library, "_FOLDERS", (str(folder),))


def test_this_systems_compiler_builds_it_without_a_warning(tmp_path: Path) -> None:
    folder = shim_library.source_folder()
    words = ["cc", *shim_library._FLAGS, "-Wall", "-Wextra", "-Werror", "-o", str(tmp_path / "a.so")]
    done = subprocess.run(
        [*words, f"{folder}/preload.c", "-ldl"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_it_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(
        tmp_path / "bin", f'echo x >> {tmp_path}/count; while [ "$1" != -o ]; do shift; done; echo made > $2'
    )
    only(monkeypatch, tmp_path / "bin")
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    assert [library(environ, []), library(environ, [])] == [b"made\n"] * 2
    assert (tmp_path / "count").read_text() == "x\n"
    assert os.stat(tmp_path / "hark" / "shims").st_mode & 0o77 == 0


def test_of_first_runs_at_once_one_builds_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = f"echo x >> {tmp_path}/count"
    compiler(tmp_path / "bin", f'{counted}; while [ "$1" != -o ]; do shift; done; sleep 0.1; echo made > $2')
    only(monkeypatch, tmp_path / "bin")
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(library({"XDG_STATE_HOME": str(tmp_path)}, [])))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"made\n"] * 6
    assert (tmp_path / "count").read_text() == "x\n"
    assert len(os.listdir(tmp_path / "hark" / "shims")) == 1


def test_what_a_killed_build_left_is_gone_after_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "hark" / "shims" / ".build-left"
    left.mkdir(parents=True)
    (left / "preload.c").write_bytes(b"half")
    compiler(tmp_path / "bin", 'while [ "$1" != -o ]; do shift; done; echo made > $2')
    only(monkeypatch, tmp_path / "bin")
    assert library({"XDG_STATE_HOME": str(tmp_path)}, []) == b"made\n"
    assert not left.exists()


def test_a_compiler_that_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path / "bin", "exec /usr/bin/sleep 60")
    only(monkeypatch, tmp_path / "bin")
    monkeypatch.setattr(shim_library, "_TIMEOUT_S", 0.1)
    with pytest.raises(NoLibraryError, match=r"took longer than 0\.1 s"):
        library({"XDG_STATE_HOME": str(tmp_path)}, [])


def test_what_was_built_serves_when_the_compiler_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = compiler(tmp_path / "bin", 'while [ "$1" != -o ]; do shift; done; echo made > $2')
    only(monkeypatch, tmp_path / "bin")
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    library(environ, [])
    one.unlink()
    assert library(environ, []) == b"made\n"


def is_running(number: int) -> bool:
    """A zombie is not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_no_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, tmp_path)
    with pytest.raises(NoLibraryError, match=r"there is no C compiler"):
        library({"XDG_STATE_HOME": str(tmp_path)}, [])


def test_the_doctor_is_told_of_a_missing_compiler_with_what_installs_one_and_runs_go_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    assert found(environ).state is State.OK
    monkeypatch.setattr(shim_library, "_FOLDERS", (str(tmp_path / "nothing"),))
    assert found(environ).state is State.OK  # the control: what was built serves
    assert "neither XDG_STATE_HOME nor HOME says" in found({}).words
    without = found({"XDG_STATE_HOME": str(tmp_path / "other")})
    assert (without.state, "there is no C compiler" in without.words) == (State.LESS, True)
    assert "apt-get install gcc" in without.fix


def test_what_the_compiler_said_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path / "bin", "echo 'x.c:1: fatal error: stdint.h: no such file' >&2; exit 1")
    only(monkeypatch, tmp_path / "bin")
    with pytest.raises(NoLibraryError, match=r"fatal error: stdint\.h"):
        library({"XDG_STATE_HOME": str(tmp_path)}, [])


def test_a_compiler_that_the_agent_may_write_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler(tmp_path / "bin", f"touch {tmp_path}/ran")
    only(monkeypatch, tmp_path / "bin")
    with pytest.raises(NoLibraryError, match="no C compiler"):
        library({"XDG_STATE_HOME": str(tmp_path)}, [str(tmp_path / "bin")])
    assert not (tmp_path / "ran").exists()


def test_a_compiler_does_not_get_the_callers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler(tmp_path / "bin", 'while [ "$1" != -o ]; do shift; done; /usr/bin/env > $2')
    only(monkeypatch, tmp_path / "bin")
    monkeypatch.setenv("GCC_EXEC_PREFIX", "/evil")
    assert b"/evil" not in library({"XDG_STATE_HOME": str(tmp_path)}, [])


def test_a_compiler_that_takes_too_long_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    compiler(tmp_path / "bin", f"/bin/sleep 600 & echo $! > {started}; wait")
    only(monkeypatch, tmp_path / "bin")
    for seconds in (0.5, 5.0, 50.0):  # for a busy machine, on which it has not got that far
        monkeypatch.setattr(shim_library, "_TIMEOUT_S", seconds)
        with pytest.raises(NoLibraryError, match="took longer than"):
            library({"XDG_STATE_HOME": str(tmp_path)}, [])
        if started.exists() and started.read_text().strip():
            break
    number = int(started.read_text())
    until(lambda: not is_running(number))


def test_a_full_disk_is_told_with_what_to_do_and_not_as_a_missing_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler(tmp_path / "bin", "exit 1")
    only(monkeypatch, tmp_path / "bin")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "makedirs", full)
    with pytest.raises(NoLibraryError) as caught:
        library({"XDG_STATE_HOME": str(tmp_path)}, [])
    where = tmp_path / "hark" / "shims"
    assert str(caught.value) == f"it could not be built: {where}: No space left on device; make room there"
    monkeypatch.setattr(shim_library, "_FOLDERS", (str(tmp_path / "none"),))
    with pytest.raises(NoLibraryError, match=r"there is no C compiler .*; install one"):
        library({"XDG_STATE_HOME": str(tmp_path)}, [])
