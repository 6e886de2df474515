"""Programs side by side: each to its end, and none that outlasts it, its time or whoever began it."""

import os
import signal
import time
from pathlib import Path

import pytest

from hark import beside as module
from hark.beside import Beside
from tests.support.waiting import until


def begin(beside: Beside[str], script: str, log: Path, **options: object) -> None:
    with log.open("wb") as said, log.with_suffix(".out").open("wb") as printed:
        beside.begin(log.name, ("/bin/sh", "-c", script), printed, said, **options)  # type: ignore[arg-type]


def printed(log: Path) -> bytes:
    return log.with_suffix(".out").read_bytes()


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def pid_in(path: Path) -> int:
    until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def test_what_it_printed_and_how_it_ended(tmp_path: Path) -> None:
    beside = Beside[str]()
    begin(beside, "echo one; echo two >&2; cat; exit 4", tmp_path / "log")
    assert len(beside) == 1
    ended = beside.ended()
    assert (ended.tag, ended.code, len(beside)) == ("log", 4, 0)
    assert (printed(tmp_path / "log"), (tmp_path / "log").read_bytes()) == (b"one\n", b"two\n")


def test_the_first_that_ends_comes_back_first_and_each_once(tmp_path: Path) -> None:
    beside = Beside[str]()
    begin(beside, f"while ! [ -e {tmp_path}/mark ]; do sleep 0.05; done", tmp_path / "a")
    begin(beside, "kill -KILL $$", tmp_path / "b")
    first = beside.ended()
    (tmp_path / "mark").touch()
    assert [(one.tag, one.code) for one in (first, beside.ended())] == [("b", -9), ("a", 0)]


def test_a_program_that_is_not_there_is_said_and_is_not_among_them(tmp_path: Path) -> None:
    beside = Beside[str]()
    with pytest.raises(FileNotFoundError):
        begin(beside, "true", tmp_path / "log", folder=str(tmp_path / "nowhere"))
    assert len(beside) == 0


def test_a_whole_one_takes_with_it_what_it_left_running(tmp_path: Path) -> None:
    beside = Beside[str]()
    script = "sleep 60 >&- 2>&- & echo $!"
    begin(beside, script, tmp_path / "log")
    beside.ended()
    left = int(printed(tmp_path / "log"))
    assert is_there(left)  # the control
    os.kill(left, 9)
    begin(beside, script, tmp_path / "log", whole=True)
    assert beside.ended().code == 0
    until(lambda: not is_there(int(printed(tmp_path / "log"))))


def test_one_that_takes_too_long_has_no_exit_code_and_leaves_nothing(tmp_path: Path) -> None:
    beside, started = Beside[str](), tmp_path / "pid"
    begin(beside, "exit 0", tmp_path / "soon", seconds=600)
    assert beside.ended().code == 0  # the control
    for seconds in (1, 10, 50):  # for a busy machine, on which it has not got that far
        begin(beside, f"sleep 600 & echo $! > {started}; wait", tmp_path / "late", seconds=seconds)
        assert beside.ended().code is None
        if started.exists() and started.read_text():
            break
    until(lambda: not is_there(pid_in(started)))


def test_one_that_is_ended_is_told_first_and_taken_if_it_does_not_hear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 4)
    beside = Beside[str]()
    begin(beside, f"trap 'echo bye; exit' TERM; echo $$ > {tmp_path}/a.pid; sleep 60 & wait", tmp_path / "a")
    begin(beside, f"trap '' TERM; echo $$ > {tmp_path}/b.pid; while :; do sleep 60; done", tmp_path / "b")
    pids = [pid_in(tmp_path / name) for name in ("a.pid", "b.pid")]
    assert sorted(beside.drop()) == ["a", "b"]
    assert printed(tmp_path / "a") == b"bye\n"
    assert not any(map(is_there, pids))
    assert beside.drop() == []


def test_it_is_in_a_session_of_its_own(tmp_path: Path) -> None:
    beside = Beside[str]()
    begin(beside, f"echo $$ > {tmp_path}/pid; sleep 60", tmp_path / "log")
    pid = pid_in(tmp_path / "pid")
    assert os.getsid(pid) == os.getpgid(pid) == pid != os.getsid(0)
    beside.drop()


def test_it_ends_with_whoever_began_it(tmp_path: Path) -> None:
    """SIGKILL leaves no time to end anything, and the kernel does it."""
    child = os.fork()
    if child == 0:
        try:
            begin(Beside[str](), f"echo $$ > {tmp_path}/pid; exec sleep 60", tmp_path / "log")
            time.sleep(60)
        finally:
            os._exit(1)
    pid = pid_in(tmp_path / "pid")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    until(lambda: not is_there(pid))
