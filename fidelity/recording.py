"""Records a shape once, with its servers up, and makes sure that the run did what the shape is about.

What the recording leaves is the bundle and what the agent printed: servers and project are gone afterwards,
so that a replay which needed one of them would be found out.
"""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Final

from fidelity.shape import Folder, Outcome, Served
from tests.e2e.rig import Desk, desk
from tests.support.seat import Seat
from tests.support.user import User, identity

PATIENCE_S: Final = 240
SIZE: Final = struct.pack("HHHH", 24, 80, 0, 0)
SEATED: Final = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes the terminal on standard input the session's own, then becomes another program."""


@dataclass(frozen=True, slots=True)
class Kit:
    """Who records, and where they find the fetched packages, if those are there."""

    user: User
    packages: Path | None
    agents: Path | None = None

    def places(self) -> dict[str, str]:
        """What the words of policies and commands stand for."""
        return {
            "python": self.user.python,
            "packages": f"{self.packages}/py",
            "npm": f"{self.packages}/npm/node_modules",
            "agents": f"{self.agents}/py",
        }


@dataclass(frozen=True, slots=True)
class Recorded:
    """A bundle, what was printed, the ports at which servers were, and whether it used packages or agents."""

    bundle: Path
    out: str
    ports: tuple[int, ...]
    packages: bool = False
    agents: bool = False


@contextmanager
def recorded(folder: Folder, kit: Kit) -> Iterator[Recorded]:
    """Record; the bundle is there until the context ends. AssertionError if the run was not as meant."""
    with tempfile.TemporaryDirectory(prefix="hark-fidelity-") as name:
        place = Path(name)
        place.chmod(0o755)
        work = place / "recording"
        work.mkdir()
        with desk(kit.user, work) as at:
            outcome = play(folder, kit, at)
            shutil.copyfile(at.bundle, place / "run.hark")
        shutil.rmtree(work)
        ports, shape = tuple(outcome.served.ports), folder.shape
        yield Recorded(place / "run.hark", outcome.out, ports, shape.packages, shape.agents)


def play(folder: Folder, kit: Kit, at: Desk) -> Outcome:
    """Run the shape's agent at a desk against its servers, and judge the run."""
    shape = folder.shape
    for name, content in folder.files().items():
        at.write(name, content)
    with shape.serve(at) as served:
        at.env.update(shape.caller)
        at.env["XDG_STATE_HOME"] = f"{kit.user.home}/state"  # the preload is built there, once for all
        words = [*options(folder, kit, at, served), "--", *command(folder, kit)]
        ended = at_terminal(at, words, folder) if shape.typed else piped(at, words, shape.stdin)
        outcome = Outcome(ended.returncode, ended.stdout, ended.stderr, served, at)
    judge(folder, outcome)
    return outcome


def judge(folder: Folder, outcome: Outcome) -> None:
    """Raise AssertionError unless the run ended as it should, did what it should, and verifies."""
    said = f"exit {outcome.code}\n{outcome.out}\n{outcome.err}"
    assert outcome.code == folder.shape.code, said
    try:
        folder.shape.expect(outcome)
    except (AssertionError, LookupError, ValueError, TypeError) as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{said}") from error
    assert outcome.desk.verdict().startswith("VERIFIED"), said


def options(folder: Folder, kit: Kit, at: Desk, served: Served) -> list[str]:
    """What `hark run` is told beside the command."""
    outside = at.project.parent
    text = Template(folder.policy.read_text()).substitute(kit.places(), outside=str(outside))
    at.write("policy.toml", text)
    said = ["-policy=policy.toml"]
    if served.ca_pem:
        roots = outside / "upstream-ca.pem"
        roots.write_bytes(served.ca_pem)
        said.append(f"-upstream-ca={roots}")
    return said + [f"-upstream={host}={address}" for host, address in served.addresses.items()]


def command(folder: Folder, kit: Kit) -> list[str]:
    """The agent's own."""
    return [Template(word).safe_substitute(kit.places()) for word in folder.shape.command]


def piped(at: Desk, words: list[str], stdin: bytes | None) -> subprocess.CompletedProcess[str]:
    """Run where nobody sits."""
    return at.run(*words, stdin=stdin, timeout=PATIENCE_S)


def at_terminal(at: Desk, words: list[str], folder: Folder) -> subprocess.CompletedProcess[str]:
    """Run at a terminal, where somebody types."""
    hark = [at.user.python, "-m", "hark.cli.main", "run", "-o", str(at.bundle), *words]
    argv = [at.user.python, "-c", SEATED, *hark]
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, SIZE)
    env = dict(at.user.env) | at.env | {"TERM": "xterm"}
    ends: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    ends["start_new_session"] = True
    with subprocess.Popen(argv, cwd=at.project, env=env, **identity(at.user), **ends) as process:
        os.close(slave)
        seat = Seat(master, process.pid)
        shown = []
        try:
            for prompt, line in folder.shape.typed:
                shown.append(seat.until(prompt))
                seat.type(line)
            shown.append(_rest(seat))
            code = process.wait(PATIENCE_S)
        finally:
            process.kill()
            os.close(master)
    return subprocess.CompletedProcess(words, code, "".join(shown).replace("\r\n", "\n"), "")


def _rest(seat: Seat) -> str:
    rest = seat.shown
    with suppress(OSError):  # the terminal's other side is closed
        while data := os.read(seat.master, 65536):
            rest += data
    return rest.decode()
