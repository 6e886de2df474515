"""Programs side by side: each to its end, and none that outlasts it."""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from hark.compare.processes import STOPPED, Processes

SH = ("/bin/sh", "-c")


def run(processes: Processes, script: str, log: Path, **options: object) -> tuple[int, bytes]:
    with log.open("wb") as said, log.with_suffix(".out").open("wb") as printed:
        code = processes.run((*SH, script), os.environ, printed, said, **options)  # type: ignore[arg-type]
    return code, log.with_suffix(".out").read_bytes()


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    for _ in range(100):
        if not is_there(pid):
            return True
        time.sleep(0.05)
    return False


def test_what_it_printed_and_how_it_ended(tmp_path: Path) -> None:
    code, out = run(Processes(), "echo one; echo two >&2; exit 4", tmp_path / "log")
    assert (code, out, (tmp_path / "log").read_bytes()) == (4, b"one\n", b"two\n")


def test_a_whole_one_takes_with_it_what_it_left_running(tmp_path: Path) -> None:
    script = "sleep 60 >&- 2>&- & echo $!"
    _, left = run(Processes(), script, tmp_path / "log")
    assert is_there(int(left))  # the control
    os.kill(int(left), 9)
    _, taken = run(Processes(), script, tmp_path / "log", whole=True)
    assert gone(int(taken))


def test_one_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {started}; wait"
    for seconds in (1, 10, 50):  # for a busy machine, on which it has not got that far
        with pytest.raises(subprocess.TimeoutExpired):
            run(Processes(), script, tmp_path / "log", seconds=seconds, whole=True)
        if started.exists() and started.read_text():
            break
    assert gone(int(started.read_text()))


def test_stopped_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    processes, found = Processes(), list[tuple[int, bytes]]()
    script = f"touch {tmp_path}/begun; exec sleep 60"
    thread = threading.Thread(target=lambda: found.append(run(processes, script, tmp_path / "log")))
    thread.start()
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    processes.stop()
    thread.join(60)
    assert found[0][0] == -15
    assert run(processes, f"touch {tmp_path}/again", tmp_path / "log") == (STOPPED, b"")
    assert not (tmp_path / "again").exists()
