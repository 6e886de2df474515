"""The guard of a tool server: nothing of the server is left, however its end comes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mediator.mcp import guard
from tests.support.waiting import until

ORPHAN = "setsid sh -c 'echo $$ > {0}/orphan; exec sleep 1000' & echo $$ > {0}/main; read line; exit 5"


def start(folder: Path, script: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a guard; the answer has the end of its life."""
    theirs, ours = os.pipe2(os.O_CLOEXEC)
    argv = [sys.executable, "-I", "-S", guard.__file__, str(theirs), "/bin/sh", "-c", script.format(folder)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, pass_fds=(theirs,), start_new_session=True)
    os.close(theirs)
    return process, ours


def number_in(path: Path) -> int:
    until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def wait_gone(*processes: int) -> None:
    until(lambda: not any(os.path.exists(f"/proc/{process}") for process in processes))


@pytest.mark.parametrize("how", ["the server ends", "its life ends", "the guard is killed"])
def test_the_server_and_its_orphans_are_gone(how: str, tmp_path: Path) -> None:
    process, life = start(tmp_path, ORPHAN)
    main, orphan = number_in(tmp_path / "main"), number_in(tmp_path / "orphan")
    if how == "the server ends":
        process.communicate(b"\n", timeout=60)
        assert process.returncode == 5
        wait_gone(main, orphan)
    elif how == "its life ends":
        os.close(life)
        assert process.wait(60) == 128 + signal.SIGTERM
        wait_gone(main, orphan)
    else:
        process.kill()
        process.wait(60)
        wait_gone(main)
        os.kill(orphan, signal.SIGKILL)  # what left the group is beyond a guard that was killed itself
    if how != "its life ends":
        os.close(life)
    assert process.stdin is not None
    process.stdin.close()


def test_a_server_that_minds_no_signal_is_killed(tmp_path: Path) -> None:
    process, life = start(tmp_path, "trap '' TERM; echo $$ > {0}/main; while :; do sleep 1000; done")
    main = number_in(tmp_path / "main")
    os.close(life)
    assert process.wait(60) == 128 + signal.SIGKILL
    wait_gone(main)
    assert process.stdin is not None
    process.stdin.close()


def test_a_server_has_no_descriptor_but_its_streams(tmp_path: Path) -> None:
    process, life = start(tmp_path, "ls -l /proc/self/fd > {0}/fds")
    process.wait(60)
    os.close(life)
    assert process.stdin is not None
    process.stdin.close()
    names = [line.split()[8] for line in (tmp_path / "fds").read_text().splitlines()[1:]]
    assert set(names) - {"0", "1", "2"} <= {"3"}  # ls's own look at the directory
