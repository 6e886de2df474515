"""The terminal, driven as a person does: through a real pty, with a supervisor in a session of its own."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launcher.launch import launch
from launcher.watch import Watch
from tests.launcher.rig import SYSTEM_PYTHON, WHO, become_ordinary, plan, project, without
from tests.support.seat import Seat
from tests.support.waiting import until


@contextlib.contextmanager
def seat(
    script: str, *, who: str = "ordinary user", terminal: bool = True, blocking: bool = True
) -> Iterator[Seat]:
    """A supervisor on a terminal of its own that runs `script` and prints its end as `[end ...]`."""
    with project(who) as folder:
        process, master = pty.fork()
        if process == 0:
            os.set_blocking(1, blocking)  # all three streams are one open terminal
            _supervise(script, who, folder, terminal)
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        try:
            yield Seat(master, process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(master)


def _supervise(script: str, who: str, folder: Path, terminal: bool) -> None:
    status = 99
    try:
        if who != "root":
            become_ordinary()
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PS1": "$ ", "TERM": "dumb", "HOME": "/home/agent"}
        what = plan(folder, ("/bin/sh", "-c", script), terminal=terminal, env=env)
        with launch(what) as boundary:
            boundary.start()
            ended = boundary.wait()
        os.set_blocking(1, True)
        os.write(1, f"[end {ended.code} {ended.signal} {ended.passed_on} {ended.status}]\n".encode())
        status = ended.status
    except BaseException as error:
        os.write(1, f"[failed {error!r}]\n".encode())
    finally:
        os._exit(status)


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_agent_has_a_terminal_of_its_own_with_a_name_and_the_callers_size(who: str) -> None:
    with seat("tty; stty size < /dev/tty; [ -t 0 ] && [ -t 1 ] && echo yes; exit 5", who=who) as one:
        shown = one.until("[end 5 None None 5]")
    assert re.search(r"/dev/pts/0\s+24 80\s+yes", shown)


@pytest.mark.attack
def test_what_is_typed_reaches_the_agent_and_the_callers_terminal_is_given_back() -> None:
    with seat("echo ready; read line; echo got-$line") as one:
        before = one.modes()
        one.until("ready")
        until(one.raw)
        one.type("hello\r")
        one.until("got-hello")
        one.until("[end 0 None None 0]")
        assert one.modes() == before


@pytest.mark.attack
def test_ctrl_c_interrupts_the_agent_and_the_supervisor_lives_to_tell() -> None:
    # Not a shell's `sleep`: dash puts an interrupt off that comes while it starts a program.
    program = "import signal; signal.signal(2, signal.SIG_DFL); print('ready', flush=True); signal.pause()"
    with seat(f'exec {SYSTEM_PYTHON} -c "{program}"') as one:
        one.until("ready")
        until(one.raw)
        one.type("\x03")
        one.until("[end None 2 None 130]")


@pytest.mark.attack
def test_ctrl_c_without_a_private_terminal_is_passed_on_and_told_apart() -> None:
    with seat(
        "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.1; done", terminal=False
    ) as one:
        one.until("ready")
        one.type("\x03")
        one.until("caught")
        one.until("[end 3 None 2 3]")


@pytest.mark.attack
def test_window_size_follows() -> None:
    with seat("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.1; done") as one:
        one.until("ready")
        fcntl.ioctl(one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
        one.until("33 99")


@pytest.mark.attack
def test_where_nobody_could_continue_it_ctrl_z_stops_nothing() -> None:
    # The supervisor here leads its session. Not a shell's `sleep`: a shell that is stopped while it starts a
    # program cannot report it.
    program = "import time; print('ready', flush=True); time.sleep(0.3); print('on')"
    with seat(f'exec {SYSTEM_PYTHON} -c "{program}"') as one:
        one.until("ready")
        until(one.raw)
        one.type("\x1a")
        one.until("on")
        one.until("[end 0 None None 0]")


@pytest.mark.attack
@pytest.mark.parametrize("terminal", [True, False])
def test_where_nobody_could_continue_it_an_agent_that_stops_itself_stops_only_itself(terminal: bool) -> None:
    script = "(sleep 0.5; kill -CONT $$) & echo ready; kill -STOP $$; echo on; wait"
    with seat(script, terminal=terminal) as one:
        one.until("ready")
        one.until("on")  # nobody has continued the supervisor, whose terminal relay this comes through
        one.until("[end 0 None None 0]")


@pytest.mark.attack
def test_ctrl_z_and_fg_work_under_a_shell_with_job_control() -> None:
    """A shell outside runs the supervisor as a job; its prompt comes back on Ctrl-Z, and fg resumes."""
    with project() as folder:
        process, master = pty.fork()
        if process == 0:
            _shell_with_a_job(folder)
        one = Seat(master, process)
        try:
            one.until("agent-ready")
            until(one.raw)
            one.type("\x1a")
            one.until("job-stopped")
            until(lambda: not one.raw())
            one.type("\r")  # whoever plays the shell waits for this to say fg
            one.until("fg\n")
            until(one.raw)
            one.type("go\r")
            one.until("agent-again")
            one.until("job-ended 0")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(master)


TICKS = ": > ticks; setsid sh -c 'while :; do echo >> ticks; sleep 0.05; done' & echo agent-ready; read line"


@pytest.mark.attack
@pytest.mark.parametrize("held", [True, False], ids=["held", "the control"])
def test_while_the_job_is_stopped_nothing_inside_goes_on_and_fg_has_all_of_it_go_on(held: bool) -> None:
    """The recorder is stopped then, and what would end the run at its limits."""
    with project() as folder:
        process, master = pty.fork()
        if process == 0:
            _shell_with_a_job(folder, TICKS, bool if held else without(Watch, "_hold"))
        one, ticks = Seat(master, process), folder / "ticks"
        try:
            one.until("agent-ready")
            until(one.raw)
            until(lambda: _grows(ticks))  # until then it may be of the group that the terminal stops
            one.type("\x1a")
            one.until("job-stopped")
            if held:
                until(lambda: not _grows(ticks))
                one.type("\r")
                one.until("fg\n")
            until(lambda: _grows(ticks))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(master)


def _grows(file: Path) -> bool:
    size = file.stat().st_size
    time.sleep(0.5)
    return file.stat().st_size > size


def _shell_with_a_job(
    folder: Path,
    script: str = "echo agent-ready; read line; echo agent-again",
    change: Callable[[], object] = bool,
) -> None:
    """What an interactive shell does with one job, and no more."""
    try:
        become_ordinary()
        change()
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            while os.tcgetpgrp(0) != os.getpgrp():
                time.sleep(0.01)
            _supervise(script, "root", folder, terminal=True)
        os.setpgid(job, job)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, job)
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        os.write(1, b"job-stopped\n" if os.WIFSTOPPED(status) else b"job-lost\n")
        os.read(0, 100)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
        time.sleep(0.2)
        os.write(1, b"fg\n")
        _, status = os.waitpid(job, 0)
        os.write(1, f"job-ended {os.waitstatus_to_exitcode(status)}\n".encode())
    finally:
        os._exit(0)


@pytest.mark.attack
def test_a_redirected_stream_stays_redirected_beside_the_terminal() -> None:
    with seat("exec 2>err; [ -t 0 ] && [ ! -t 2 ] && echo mixed") as one:
        one.until("mixed")


@pytest.mark.attack
def test_an_inner_shell_has_job_control() -> None:
    with seat("set -m; sleep 60 & jobs; kill %1; wait; echo done") as one:
        assert "Running" in one.until("done")


@pytest.mark.attack
def test_much_output_and_much_input_pass_whole() -> None:
    program = "import sys; d=sys.stdin.readline(); print(len(d)); print('x'*300000); print('tail')"
    with seat(f'stty -icanon -echo; echo ready; {SYSTEM_PYTHON} -c "{program}"') as one:
        one.until("ready")
        until(one.raw)
        for _ in range(20):
            one.type("y" * 1000)
        one.type("\n")
        shown = one.until("tail")
        assert "20001" in shown
        assert shown.count("x") >= 300000


@pytest.mark.attack
def test_a_callers_terminal_that_does_not_block_gets_all_output_and_gives_all_input() -> None:
    script = "stty -icanon -echo; echo ready; head -c 20000 | wc -c; seq 1 200000"
    with seat(script, blocking=False) as one:
        one.until("ready")
        until(one.raw)
        for _ in range(20):
            one.type("y" * 1000)
        shown = one.until("[end 0 None None 0]").split()
    assert shown[:1] == ["20000"]
    assert shown[1:200001] == [str(number) for number in range(1, 200001)]
