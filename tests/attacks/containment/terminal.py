"""Trap 10: the operator's terminal, from a run in the background of the operator's shell."""

import contextlib
import os
import pty
import signal
import time
from pathlib import Path

from launcher import kernel
from launcher import launch as launching
from launcher.launch import launch
from tests.attacks.containment.programs import CALLER
from tests.attacks.registry import Outcome, add
from tests.launcher.rig import SYSTEM_PYTHON, become_ordinary, plan, project, without

TYPED = b"a password for the shell\n"
SPY = """
import os, signal, sys
signal.signal(signal.SIGTTIN, signal.SIG_IGN)
open("ready", "w").close()
data = os.read(int(sys.argv[1]), 100)
open("stolen", "wb").write(data)
"""
PATIENCE = 60.0
LONG_ENOUGH = 1.0
"""Seconds that the spy gets before the shell reads. Without a defence it has as long as it needs."""


def _shell(folder: Path, stream: int, *, terminal: bool) -> None:
    """The operator's shell: a job in the background with one stream left on the terminal, then a read."""
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        null = os.open("/dev/null", os.O_RDWR)
        for other in {0, 1, 2} - {stream}:
            os.dup2(null, other)
        if CALLER != "root":
            become_ordinary()
        kernel.die_with_parent(signal.SIGKILL)  # a job in the background outlives its terminal otherwise
        argv = (SYSTEM_PYTHON, "-I", "-c", SPY, str(stream))
        if not terminal:
            # The two defences that come before the private terminal go as well.
            without(launching, "empty_input_in_background")()
            without(launching, "write_only_terminals")()
        with launch(plan(folder, argv, terminal=terminal)) as boundary:
            boundary.start()
            boundary.wait()
        os._exit(0)
    time.sleep(PATIENCE)  # the prompt waits; whoever reads the terminal meanwhile is no shell


def _spied(stream: int, *, terminal: bool) -> Outcome:
    with project(CALLER) as folder:
        process, master = pty.fork()
        if process == 0:
            try:
                _shell(folder, stream, terminal=terminal)
            finally:
                os._exit(0)
        try:
            deadline = time.monotonic() + PATIENCE
            while not (folder / "ready").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            if not (folder / "ready").exists():
                return Outcome.said("the spy did not start")
            os.write(master, TYPED)
            deadline = time.monotonic() + (LONG_ENOUGH if terminal else PATIENCE)
            stolen, got = folder / "stolen", b""
            while not got and time.monotonic() < deadline:
                time.sleep(0.01)
                got = stolen.read_bytes() if stolen.exists() else b""
            return Outcome.seen(f"read {got!r}", succeeded=TYPED.strip() in got)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(master)


for number, name in enumerate(("standard input", "standard output", "standard error")):
    add(
        10,
        f"read what is typed at the shell by way of {name}, from a run in the background",
        lambda number=number: _spied(number, terminal=True),
        lambda number=number: _spied(number, terminal=False),
    )
