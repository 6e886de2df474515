"""Traps 3 to 5, 8, 14, 15 and 22: the host's files, processes and descriptors, and the run's own record."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from launcher import confine, kernel, landlock, mounts, outlet, seccomp
from launcher.launch import launch
from launcher.plan import Access, Grant
from tests.attacks.containment.programs import CALLER, TRY, as_root, inside, outside
from tests.attacks.registry import Outcome, Verdict, add, attack
from tests.launcher.rig import PATH, SYSTEM_PYTHON, apart, plan, project, run_here, without
from tests.support.user import UID

SECRET: Final = "hark-secret-4f1d"
OPEN_FOR_WRITING: Final = "attempt(lambda: os.close(os.open({path!r}, os.O_WRONLY)))\n"


@contextlib.contextmanager
def sleeper() -> Iterator[int]:
    """An unrelated process of the caller's."""
    process = subprocess.Popen(["sleep", "60"], **_credentials())
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _credentials() -> dict[str, Any]:
    return {} if CALLER == "root" or os.geteuid() != 0 else {"user": UID, "group": UID, "extra_groups": []}


@contextlib.contextmanager
def folder_of_caller() -> Iterator[Path]:
    """A folder of the caller's that no plan grants."""
    with tempfile.TemporaryDirectory(prefix="hark-outside-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def _with_sleeper(trap: int, name: str, program: str) -> None:
    def run(where: Callable[[str], Outcome]) -> Outcome:
        with sleeper() as victim:
            return where(program.replace("VICTIM", str(victim)))

    add(trap, name, lambda: run(inside), lambda: run(outside))


_with_sleeper(3, "see another process of the host", "attempt(lambda: os.readlink('/proc/VICTIM/cwd'))\n")
_with_sleeper(3, "signal another process of the host", "attempt(lambda: os.kill(VICTIM, 0))\n")

if as_root():
    shadow = "attempt(lambda: len(open('/etc/shadow').read()))\n"
    add(3, "read /etc/shadow as root's agent", lambda: inside(shadow), lambda: outside(shadow))
    zero = "print('SUCCEEDED' if os.getuid() == 0 else 'REFUSED', os.getuid())\n"
    add(3, "run as uid 0", lambda: inside(zero), lambda: outside(zero))

    def _without_capabilities(program: str) -> Outcome:
        def work() -> Outcome:
            kernel.drop_capabilities()
            done = subprocess.run(
                [SYSTEM_PYTHON, "-I", "-c", TRY + program],
                check=False,
                capture_output=True,
                text=True,
                env={"PATH": PATH},
            )
            return Outcome.said(done.stdout or done.stderr)

        outcome: Outcome = apart(work, who="root")
        return outcome

    for setting in ("kernel/core_pattern", "vm/swappiness"):
        opening = OPEN_FOR_WRITING.format(path=f"/proc/sys/{setting}")
        add(
            3,
            f"open /proc/sys/{setting} for writing, started by root",
            lambda opening=opening: inside(opening),
            lambda opening=opening: _without_capabilities(opening),
        )


@attack(trap=3, name="make a setuid file in the project")
class SetUid:
    """Root's agent writes files that belong to root: a setuid bit on one would be root for everybody."""

    PROGRAM = (
        "fd = os.open('tool', os.O_CREAT | os.O_WRONLY, 0o755)\nattempt(lambda: os.fchmod(fd, 0o4755))\n"
    )

    @staticmethod
    def defended() -> Outcome:
        return inside(SetUid.PROGRAM)

    @staticmethod
    def undefended() -> Outcome:
        return inside(SetUid.PROGRAM, change=without(seccomp, "install"))


@attack(trap=4, name="reach a unix socket of the host by its path")
class PathSocket:
    """Landlock lets it pass where its folder is visible, so only the mount namespace hides it."""

    @staticmethod
    def run(*, granted: bool) -> Outcome:
        with folder_of_caller() as folder, socket.socket(socket.AF_UNIX) as service:
            path = str(folder / "docker.sock")
            service.bind(path)
            service.listen()
            os.chmod(path, 0o666)
            more = (Grant(str(folder), Access.READ, "-read"),) if granted else ()
            program = f"s = socket.socket(socket.AF_UNIX)\nattempt(lambda: s.connect({path!r}))\n"
            return inside(program, more=more)

    @staticmethod
    def defended() -> Outcome:
        return PathSocket.run(granted=False)

    @staticmethod
    def undefended() -> Outcome:
        return PathSocket.run(granted=True)


@attack(trap=5, name="use a descriptor that the caller left open")
class LeftOpen:
    """Descriptor 251 of the caller leads to a file that is not granted."""

    PROGRAM = f"attempt(lambda: os.pread(251, 99, 0) == {SECRET.encode()!r} or os.fstat(9999))\n"

    @staticmethod
    def run(change: Callable[[], Any] | None) -> Outcome:
        def leave_open() -> None:
            file = tempfile.TemporaryFile()  # noqa: SIM115  (left open on purpose)
            file.write(SECRET.encode())
            file.flush()
            os.dup2(file.fileno(), 251, inheritable=True)
            if change is not None:
                change()

        return inside(LeftOpen.PROGRAM, change=leave_open)

    @staticmethod
    def defended() -> Outcome:
        return LeftOpen.run(None)

    @staticmethod
    def undefended() -> Outcome:
        return LeftOpen.run(without(confine, "_close_all_but"))


@attack(trap=5, name="read the caller's environment")
class Environment:
    """Only what the plan names is there."""

    PROGRAM = "attempt(lambda: os.environ['AWS_SECRET_ACCESS_KEY'])\n"

    @staticmethod
    def defended() -> Outcome:
        def put() -> None:
            os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET

        return inside(Environment.PROGRAM, change=put)

    @staticmethod
    def undefended() -> Outcome:
        return outside(Environment.PROGRAM, env={"PATH": PATH, "AWS_SECRET_ACCESS_KEY": SECRET})


@attack(trap=5, name="cut and mute the caller's log by way of standard error")
class CallersLog:
    """The agent reaches into the open file description that its caller goes on writing to."""

    PROGRAM = """
import fcntl, os
for reach in (
    lambda: fcntl.fcntl(2, fcntl.F_SETFL, os.O_DIRECT),
    lambda: os.ftruncate(2, 0),
    lambda: os.lseek(2, 1 << 62, os.SEEK_SET),
    lambda: os.fchmod(2, 0o666),
):
    try: reach()
    except OSError: pass
"""

    KEPT = b"earlier\nreport\n"

    @staticmethod
    def run(change: Callable[[], Any] | None) -> Outcome:
        def work() -> str:
            with project(CALLER) as folder, tempfile.TemporaryFile() as log:
                log.write(b"earlier\n")
                log.flush()
                fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)
                os.dup2(log.fileno(), 2)
                with launch(plan(folder, (SYSTEM_PYTHON, "-I", "-c", CallersLog.PROGRAM))) as boundary:
                    boundary.start()
                    boundary.wait()
                with contextlib.suppress(OSError):
                    os.write(2, b"report\n")
                mode = os.fstat(2).st_mode & 0o777
                return f"{os.pread(log.fileno(), 99, 0)!r} {mode:o}"

        found = apart(work, who=CALLER, change=change)
        return Outcome.seen(found, succeeded=found != f"{CallersLog.KEPT!r} 600")

    @staticmethod
    def defended() -> Outcome:
        return CallersLog.run(None)

    @staticmethod
    def undefended() -> Outcome:
        return CallersLog.run(without(outlet, "_place", lambda *_, **__: None))


@attack(trap=8, name="outlive the run as a daemon")
class Daemon:
    """A child in a session of its own, with a new parent, writes on after its program has ended."""

    PROGRAM: Final = """
import os, sys, time
path = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for n in range(3000):
            with open(path, "a") as f: f.write(f"{os.getpid()}\\n")
            time.sleep(0.02)
    os._exit(0)
while not os.path.exists(path): time.sleep(0.01)
"""

    @staticmethod
    def grew(path: Path, seconds: float) -> Outcome:
        size, deadline = path.stat().st_size, time.monotonic() + seconds
        while not (alive := path.stat().st_size > size) and time.monotonic() < deadline:
            time.sleep(0.01)
        return Outcome(Verdict.SUCCEEDED if alive else Verdict.REFUSED, f"{size} bytes at the end")

    @staticmethod
    def defended() -> Outcome:
        with project(CALLER) as folder:
            path = folder / "beats"
            argv = (SYSTEM_PYTHON, "-I", "-c", Daemon.PROGRAM, str(path))
            result = apart(lambda: run_here(plan(folder, argv)), who=CALLER)
            return Outcome(Verdict.UNKNOWN, result.error) if result.error else Daemon.grew(path, 0.5)

    @staticmethod
    def undefended() -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "beats"
            subprocess.run([SYSTEM_PYTHON, "-I", "-c", Daemon.PROGRAM, str(path)], check=True)
            outcome = Daemon.grew(path, 60)
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(path.read_text().split()[0]), signal.SIGKILL)
            return outcome


@attack(trap=14, name="read the supervisor's arguments from process 1")
class Arguments:
    """Process 1 is a fork of the supervisor, whose command line may name what the agent should not know."""

    PROGRAM = (
        "text = open('/proc/1/cmdline').read().strip('\\0 ')\n"
        "print('SUCCEEDED' if text else 'REFUSED', repr(text[:40]))\n"
    )

    @staticmethod
    def defended() -> Outcome:
        return inside(Arguments.PROGRAM)

    @staticmethod
    def undefended() -> Outcome:
        return inside(Arguments.PROGRAM, change=without(kernel, "blank_arguments"))


@attack(trap=14, name="read the memory of process 1")
class Memory:
    """Three defences: not dumpable, more capabilities than the agent, outside its Landlock domain."""

    PROGRAM = "attempt(lambda: open('/proc/1/maps').readline())\n"

    @staticmethod
    def defended() -> Outcome:
        return inside(Memory.PROGRAM)

    @staticmethod
    def undefended() -> Outcome:
        def change() -> None:
            # Landlock, capabilities and dumpability each suffice, so all three go.
            set_dumpable, drop = kernel.set_dumpable, kernel.drop_capabilities

            def open_up(*, dumpable: bool) -> None:
                set_dumpable(dumpable=True)
                if not dumpable:
                    drop()

            without(landlock, "restrict")()
            without(kernel, "set_dumpable", open_up)()

        return inside(Memory.PROGRAM, change=change)


@attack(trap=15, name="truncate the record inside the project")
class Record:
    """A bundle that stands in a writable grant is hidden all the same."""

    @staticmethod
    def run(hidden: tuple[str, ...]) -> Outcome:
        def prepare(folder: Path) -> None:
            (folder / "run.hark").write_bytes(b"record")

        program = "attempt(lambda: os.close(os.open('run.hark', os.O_WRONLY | os.O_TRUNC)))\n"
        return inside(program, prepare=prepare, hidden=hidden)

    @staticmethod
    def defended() -> Outcome:
        return Record.run(("run.hark",))

    @staticmethod
    def undefended() -> Outcome:
        return Record.run(())


@attack(trap=15, name="read a masked .env through its folder's new name")
class Masked:
    """The mask goes where its folder goes."""

    @staticmethod
    def run(masked: tuple[str, ...]) -> Outcome:
        def prepare(folder: Path) -> None:
            (folder / "app").mkdir()
            (folder / "app" / ".env").write_text(SECRET)

        program = "os.rename('app', 'moved')\nattempt(lambda: open('moved/.env').read())\n"
        return inside(program, prepare=prepare, masked=masked)

    @staticmethod
    def defended() -> Outcome:
        return Masked.run(("app/.env",))

    @staticmethod
    def undefended() -> Outcome:
        return Masked.run(())


@attack(trap=15, name="plant a git hook by moving .git away")
class Hook:
    """The folders above a protected path are pinned: else the agent makes new ones."""

    PROGRAM = """
def plant():
    os.rename('.git', 'old'); os.makedirs('.git/hooks')
    with open('.git/hooks/post-commit', 'w') as f: f.write('#!/bin/sh')
attempt(plant)
"""

    @staticmethod
    def run(change: Callable[[], Any] | None) -> Outcome:
        return inside(
            Hook.PROGRAM,
            prepare=lambda folder: (folder / ".git" / "hooks").mkdir(parents=True),
            protected=(".git/hooks",),
            change=change,
        )

    @staticmethod
    def defended() -> Outcome:
        return Hook.run(None)

    @staticmethod
    def undefended() -> Outcome:
        return Hook.run(without(mounts, "_parents_to_pin", lambda *_a: ()))


@attack(trap=22, name="read a key that lies in the caller's files")
class Key:
    """What no plan grants does not exist inside."""

    @staticmethod
    def run(where: Callable[[str], Outcome]) -> Outcome:
        with folder_of_caller() as folder:
            path = folder / "ca-key.pem"
            path.write_text(SECRET)
            if os.geteuid() == 0 and CALLER != "root":
                os.chown(path, UID, UID)
            return where(f"attempt(lambda: open({str(path)!r}).read())\n")

    @staticmethod
    def defended() -> Outcome:
        return Key.run(inside)

    @staticmethod
    def undefended() -> Outcome:
        return Key.run(outside)
