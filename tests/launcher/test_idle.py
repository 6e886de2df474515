"""Idle is what nothing runs in: seen on real processes, and on a /proc made up for what is rare."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher import idle
from launcher.idle import Idle


@contextmanager
def program(text: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run Python that prints a line once it is where it should be. What it starts ends with it."""
    started = subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert started.stdout is not None
    assert started.stdin is not None
    try:
        started.stdout.readline()
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        started.stdout.close()
        started.stdin.close()


def becomes(look: Idle, idle_: bool, seconds: float = 60.0) -> bool:
    """Tell whether it is so within some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if look() is idle_:
            return True
        time.sleep(0.001)
    return False


def test_a_program_that_waits_is_idle_and_one_that_computes_is_not() -> None:
    with program("import sys; print(flush=True); sys.stdin.read()") as one:
        assert becomes(Idle(one.pid), True)
    with program("print(flush=True)\nwhile True: pass") as one:
        assert not any(Idle(one.pid)() for _ in range(50))


def test_a_thread_and_a_grandchild_that_compute_keep_it_busy() -> None:
    threaded = (
        "import threading, sys\ndef spin():\n while True: pass\n"
        "threading.Thread(target=spin, daemon=True).start()\nprint(flush=True); sys.stdin.read()"
    )
    with program(threaded) as one:
        assert not any(Idle(one.pid)() for _ in range(50))
    spin = "while True: pass"
    middle = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"
    nested = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {middle!r}])\n"
    nested += "print(flush=True); sys.stdin.read()"
    with program(nested) as one:
        assert becomes(Idle(one.pid), False)


def test_two_that_wake_each_other_are_not_idle() -> None:
    ping = (
        "import os, threading, sys\na, b = os.pipe(); c, d = os.pipe()\n"
        "def pong():\n while True: os.write(d, os.read(a, 1))\n"
        "def ping():\n while True: os.write(b, b'x'); os.read(c, 1)\n"
        "for f in (pong, ping): threading.Thread(target=f, daemon=True).start()\n"
        "print(flush=True); sys.stdin.read()"
    )
    with program(ping) as one:
        look = Idle(one.pid)
        assert sum(look() for _ in range(200)) == 0


def test_an_agent_that_has_ended_is_idle() -> None:
    with program("print(flush=True)") as one:
        one.wait()
        assert becomes(Idle(one.pid), True)


def made_up(root: Path, pid: int, state: str, children: str = "", ran: str = "5 5 5") -> None:
    """Make one process of a /proc up."""
    folder = root / str(pid) / "task" / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"{pid} (a) b) ({state}) {state} 1 1")
    (folder / "schedstat").write_text(ran)
    (folder / "children").write_text(children)


def test_who_waits_for_a_disk_is_busy_and_what_a_program_calls_itself_is_not_read(tmp_path: Path) -> None:
    made_up(tmp_path, 5, "S", "6 ")
    made_up(tmp_path, 6, "S")
    assert Idle(5, str(tmp_path))()
    made_up(tmp_path, 6, "D")
    assert not Idle(5, str(tmp_path))()
    made_up(tmp_path, 6, "Z")
    assert Idle(5, str(tmp_path))()


def test_what_cannot_be_read_as_a_state_is_busy_and_so_are_too_many_threads(
    tmp_path: Path, monkeypatch
) -> None:
    made_up(tmp_path, 5, "S")
    (tmp_path / "5" / "task" / "5" / "stat").write_text("nonsense")
    assert not Idle(5, str(tmp_path))()
    made_up(tmp_path, 5, "S", "6")
    made_up(tmp_path, 6, "S")
    monkeypatch.setattr(idle, "MAX_THREADS", 1)
    assert not Idle(5, str(tmp_path))()


def test_who_waits_for_a_processor_is_starved_and_who_sleeps_is_not() -> None:
    """Three that compute on one processor: each is kept from it while the others run."""
    pinned = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    spin = f"{pinned}; print(flush=True)\nwhile True: pass"
    with program(spin) as one, program(spin), program(spin):
        look = Idle(one.pid)
        before = look.starved()
        deadline = time.monotonic() + 20
        while look.starved() < before + 0.05 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert look.starved() >= before + 0.05
    with program("import sys; print(flush=True); sys.stdin.read()") as one:
        assert becomes(Idle(one.pid), True)
        before = Idle(one.pid).starved()
        time.sleep(0.2)
        assert Idle(one.pid).starved() - before < 0.1
    assert Idle(one.pid).starved() == 0.0


def test_who_looks_may_be_left_out_of_what_it_looks_at() -> None:
    spinning = (
        "import subprocess, sys\n"
        "one = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
        "print(one.pid, flush=True); sys.stdin.read()"
    )
    with program(spinning) as one:
        (child,) = Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text().split()
        assert not any(Idle(one.pid)() for _ in range(50))
        assert becomes(Idle(one.pid, but=int(child)), True)
