"""Trap 6 with `exec`: ways to execute a program that is not on the list.

The agent is Python, which is listed; the program that it wants is /usr/bin/id, which is not.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hark.plan.executables import resolve
from launcher import landlock, seccomp
from launcher.system import system_grants
from tests.attacks.containment.programs import inside
from tests.attacks.registry import Outcome, add
from tests.launcher.rig import PATH, SYSTEM_PYTHON, without

START: Final = """
import shutil, subprocess
WANTED = '/usr/bin/id'
def run(*argv, **options):
    done = subprocess.run(argv, capture_output=True, text=True, **options)
    if 'uid=' not in done.stdout: raise OSError(done.stderr or 'no output')
    return done.stdout
"""
LOADER: Final = (
    "next(p for p in ('/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1') if os.path.exists(p))"
)


def listed(*entries: str) -> tuple[str, ...]:
    """Python, and what `entries` name."""
    return resolve(entries, SYSTEM_PYTHON, PATH, "/home/agent", system_grants())


def _copy_of_it(folder: Path) -> None:
    """The agent may bring its own copy: here it lies in the project already."""
    (folder / "brought").write_bytes(Path("/usr/bin/id").read_bytes())
    (folder / "brought").chmod(0o755)


def _register(name: str, action: str, defence: Callable[[], Any], **options: Any) -> None:
    program = f"{START}\n{action}\n"

    def run(change: Callable[[], Any] | None = None) -> Outcome:
        return inside(program, executables=listed(), prepare=_copy_of_it, change=change, **options)

    add(6, f"exec: {name}", run, lambda: run(defence))


NO_LANDLOCK: Final = without(landlock, "restrict")

_register("execute a program that is not listed", "attempt(lambda: run(WANTED))", NO_LANDLOCK)
_register(
    "execute a copy in /tmp", "shutil.copy('brought', '/tmp/x')\nattempt(lambda: run('/tmp/x'))", NO_LANDLOCK
)
_register(
    "execute a copy in /dev/shm",
    "shutil.copy('brought', '/dev/shm/x')\nattempt(lambda: run('/dev/shm/x'))",
    NO_LANDLOCK,
)
_register("execute a copy in the project", "attempt(lambda: run('./brought'))", NO_LANDLOCK)
_register(
    "execute through a symbolic link",
    "os.symlink(WANTED, 'link')\nattempt(lambda: run('./link'))",
    NO_LANDLOCK,
)
_register(
    "execute through a hard link", "os.link('brought', 'hard')\nattempt(lambda: run('./hard'))", NO_LANDLOCK
)
_register(
    "execute by descriptor",
    "fd = os.open('brought', os.O_RDONLY)\nattempt(lambda: run(f'/proc/self/fd/{fd}', pass_fds=[fd]))",
    NO_LANDLOCK,
)
_register(
    "execute memory (memfd_create)",
    """
def memory():
    fd = os.memfd_create('x', 0)
    os.write(fd, open('brought', 'rb').read())
    return run(f'/proc/self/fd/{fd}', pass_fds=[fd])
attempt(memory)
""",
    without(seccomp, "install"),  # Landlock does not govern files that no path leads to
)
_register("run it with its loader", f"attempt(lambda: run({LOADER}, WANTED))", NO_LANDLOCK)
_register("read it, to carry it elsewhere", "attempt(lambda: len(open(WANTED, 'rb').read()))", NO_LANDLOCK)
_register(
    "start a script whose interpreter is not listed",
    "open('s', 'w').write('#!/usr/bin/sh\\nid\\n'); os.chmod('s', 0o755)\nattempt(lambda: run('./s'))",
    NO_LANDLOCK,
)
