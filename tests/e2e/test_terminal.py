"""hark as a job of a person's shell: a real bash on a real terminal, with and without hark."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.rig import Desk
from tests.support.seat import Seat
from tests.support.waiting import until

pytestmark = pytest.mark.e2e


@contextmanager
def shell(desk: Desk) -> Iterator[Seat]:
    """An interactive bash of the user's, with `hark` on its PATH and `% ` for a prompt."""
    env = (
        dict(desk.user.env)
        | desk.env
        | {"PS1": "% ", "TERM": "xterm", "HISTFILE": "", "INPUTRC": "/dev/null"}
    )
    env["PATH"] = f"{Path(desk.user.hark).parent}:{env['PATH']}"
    process, master = pty.fork()
    if process == 0:
        try:
            if os.geteuid() != desk.user.uid:
                os.setgroups([])
                os.setresgid(desk.user.gid, desk.user.gid, desk.user.gid)
                os.setresuid(desk.user.uid, desk.user.uid, desk.user.uid)
            os.chdir(desk.project)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
        finally:
            os._exit(99)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    seat = Seat(master, process)
    try:
        seat.until("% ")
        say(seat, "stty -echo; bind 'set enable-bracketed-paste off' 2>/dev/null")
        yield seat
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(master)


def say(seat: Seat, line: str) -> str:
    """Type a command and return what is shown before the next prompt."""
    seat.type(f"{line}\n")
    return seat.until("% ")


def test_ctrl_z_gives_the_prompt_back_and_fg_goes_on(at: Desk):
    with shell(at) as seat:
        seat.type("hark run -- sh -c 'echo ready; read line; echo got-$line; exit 3'\n")
        seat.until("ready")
        until(seat.raw)
        seat.type("\x1a")
        seat.until("Stopped")
        seat.until("% ")
        assert "Stopped" in say(seat, "jobs")
        seat.type("fg\n")
        seat.until("hark run")
        until(seat.raw)
        seat.type("it\r")
        seat.until("got-it")
        seat.until("% ")
        assert "code-3" in say(seat, "echo code-$?")


def test_an_agent_that_stops_itself_is_a_stopped_job_and_bg_and_fg_continue_it(rootless: Desk):
    with shell(rootless) as seat:
        seat.type("hark run -- sh -c 'kill -STOP $$; echo on; read x; echo end'\n")
        seat.until("Stopped")
        seat.until("% ")
        say(seat, "bg")
        seat.until("on")
        seat.type("fg\n")
        until(seat.raw)
        seat.type("\r")
        seat.until("end")
        seat.until("% ")


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x1c", 131)])
def test_ctrl_c_and_ctrl_backslash_end_the_agent_and_the_shell_sees_it(rootless: Desk, key: str, code: int):
    lines = (
        "import signal",
        "for n in (2, 3): signal.signal(n, signal.SIG_DFL)",
        "print('ready', flush=True)",
    )
    program = "\n".join((*lines, "signal.pause()"))
    rootless.write("wait.py", program)
    with shell(rootless) as seat:
        before = seat.modes()
        seat.type("hark run -- python3 wait.py\n")
        seat.until("ready")
        until(seat.raw)
        seat.type(key)
        seat.until("% ")
        assert f"code-{code}" in say(seat, "echo code-$?")
        assert seat.modes() == before


def test_a_supervisor_that_is_killed_leaves_the_terminal_as_it_was(rootless: Desk):
    with shell(rootless) as seat:
        before = seat.modes()
        seat.type("hark run -- sh -c 'echo ready; sleep 60'\n")
        seat.until("ready")
        until(seat.raw)
        group = os.tcgetpgrp(seat.master)
        os.kill(group, signal.SIGKILL)
        seat.until("Killed")
        until(lambda: seat.modes() == before)


def test_an_interactive_shell_inside_has_job_control(at: Desk):
    at.env |= {"PS1": "in> "}
    with shell(at) as seat:
        seat.type("hark run -- bash --norc --noprofile --noediting -i\n")
        seat.until("bash-")
        seat.type("stty -echo; PS1='in> '\n")
        seat.until("in> ")
        seat.type("sh -c 'echo read$((1))y; exec sleep 60'\n")
        seat.until("read1y")
        seat.type("\x1a")
        shown = seat.until("in> ")
        assert "Stopped" in shown
        seat.type("exit 4\n")
        shown += seat.until("There are stopped jobs")
        seat.type("exit 4\n")
        shown += seat.until("% ")
        assert "no job control" not in shown
        assert "code-4" in say(seat, "echo code-$?")


def test_a_full_screen_editor_draws_edits_and_gives_the_screen_back(at: Desk):
    at.write("note", "old\n")
    with shell(at) as seat:
        before = seat.modes()
        seat.type("hark run -- vim -u NONE -n note\n")
        seat.until("old")
        until(seat.raw)
        seat.type("cwnew\x1b:wq\r")
        seat.until("recorded")
        seat.until("% ")
        assert seat.modes() == before
    assert (at.project / "note").read_text() == "new\n"


def grows_to_show(seat: Seat, text: str) -> bool:
    """Whether that is shown, within a second, when the screen grows from 30 rows to 40."""
    for rows in (30, 40):
        fcntl.ioctl(seat.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    while select.select([seat.master], [], [], 1.0)[0]:
        seat.shown += os.read(seat.master, 65536)
    return text.encode() in seat.shown


def test_a_pager_knows_the_size_of_the_screen_and_follows_it(rootless: Desk):
    rootless.write("long", "".join(f"line-{number}\n" for number in range(200)))
    with shell(rootless) as seat:
        seat.type("hark run -- less -d long\n")
        seat.until("line-22")
        until(seat.raw)
        # A change that comes just as less begins to read is not seen by it, also without hark.
        until(lambda: grows_to_show(seat, "line-38"))
        seat.type("q")
        seat.until("% ")


MIXED = "import os; print('sees', *(os.isatty(fd) for fd in range(3)))"


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("{}", "True True True"),
        ("{} </dev/null", "False True True"),
        ("echo x | {}", "False True True"),
        ("{} | cat", "True False True"),
        ("{} 2>/dev/null", "True True False"),
    ],
)
def test_each_stream_is_a_terminal_where_it_would_be_without_hark(rootless: Desk, line: str, seen: str):
    rootless.write("mixed.py", MIXED)
    with shell(rootless) as seat:
        for prefix in ("", "hark run -- "):
            shown = say(seat, line.format(f"{prefix}python3 mixed.py"))
            assert f"sees {seen}" in shown, prefix


def test_a_pipeline_on_the_terminal_is_interrupted_as_a_whole(rootless: Desk):
    with shell(rootless) as seat:
        # The agent waits for nothing but the signal: the end of its input may come first, and end it as well.
        # `exec`, since dash may forget a signal that comes while it forks for a command.
        seat.type("sleep 60 | hark run -- sh -c 'echo ready; exec sleep 50' | cat\n")
        seat.until("ready")
        seat.type("\x03")
        seat.until("% ")
        assert "codes-130 130 130" in say(seat, 'echo "codes-${PIPESTATUS[*]}"')


@pytest.mark.parametrize("redirection", ["> log 2>&1", "</dev/null 2> log", "</dev/null > log"])
def test_what_is_typed_at_the_shell_is_not_read_by_a_run_in_the_background(rootless: Desk, redirection: str):
    spy = "import os, time\nopen('ready', 'w').close()\n"
    spy += "for f in filter(os.isatty, (0, 1, 2)):\n    open(f'got{f}', 'wb').write(os.read(f, 99))\n"
    rootless.write("spy.py", spy)
    with shell(rootless) as seat:
        say(seat, f"hark run -- python3 spy.py {redirection} &")
        until((rootless.project / "ready").exists)
        assert "typed-2" in say(seat, "echo typed-$((1+1))")
        assert "typed-3" in say(seat, "echo typed-$((1+2))")
        say(seat, "kill -9 %1; wait")
    assert not [path for path in rootless.project.glob("got*") if path.read_bytes()]


def test_a_run_that_began_in_the_background_is_typed_to_once_it_is_in_the_foreground(rootless: Desk):
    with shell(rootless) as seat:
        say(seat, "hark run -- sh -c 'touch ready; read line; echo got-$line' &")
        until((rootless.project / "ready").exists)
        assert "typed-2" in say(seat, "echo typed-$((1+1))")
        seat.type("fg\n")
        until(seat.raw)
        seat.type("it\r")
        seat.until("got-it")
        seat.until("% ")


def test_what_is_typed_and_the_size_of_the_screen_are_on_the_record(rootless: Desk):
    with shell(rootless) as seat:
        seat.type("hark run -o ../run.hark -- sh -c 'stty size; read a; echo got-$a; read b'\n")
        seat.until("24 80")
        until(seat.raw)
        seat.type("typed\r")
        seat.until("got-typed")
        fcntl.ioctl(seat.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
        os.kill(os.tcgetpgrp(seat.master), signal.SIGWINCH)
        seat.type("\x04")
        seat.until("recorded")
        seat.until("% ")
    events = [(event["source"], event["data"]["text"]) for event in rootless.events("Input")]
    assert events[:2] == [("streams", "terminal terminal terminal"), ("terminal-size", "24x80")]
    assert ("terminal-size", "40x90") in events[2:]
    assert "".join(text for source, text in events if source == "terminal") == "typed\r\x04"


def test_the_end_of_the_input_that_comes_with_an_interrupt_does_not_end_the_agent_first(rootless: Desk):
    with shell(rootless) as seat:
        for _ in range(5):
            seat.type("sleep 60 | hark run -- sh -c 'echo ready; exec cat'\n")
            seat.until("ready\r\n")
            seat.type("\x03")
            seat.until("% ")
            assert "codes-130 130" in say(seat, 'echo "codes-${PIPESTATUS[*]}"')
