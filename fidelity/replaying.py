"""Replays a recording once: another user, directory and time of day, a busy machine, and no network.

A replay counts as equal only if `hark replay` says so and everything that can be seen from outside agrees:
the agent printed what it printed when it was recorded, no packet was sent, and nobody dialled an address at
which a server had been. A verdict of equal beside a difference that shows is the worst fault there is, and
has its own words.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fidelity import clock
from fidelity.noise import busy
from fidelity.recording import Kit, Recorded
from fidelity.shape import ROOT
from tests.support.user import User

PATIENCE_S: Final = 240
EQUAL: Final = 0
OURS: Final = ("hark: ", "REPLAY-")
"""What lines of hark's own begin with."""
FALSE_EQUAL: Final = "EQUAL, AND YET"
NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Replayed:
    """How one replay ended."""

    code: int | None
    """Of `hark replay`; None where it did not end."""
    out: str
    err: str
    sent: int | None
    """Packets, in the namespace that it had for itself; None where the host allows none."""
    dialled: int
    seconds: float

    def fault(self, recorded_out: str) -> str:
        """Why this is no faithful replay, in few words; empty if it is one."""
        if self.code is None:
            return f"did not end within {PATIENCE_S} s"
        if self.sent or self.dialled:
            return f"{FALSE_EQUAL} it sent {self.sent} packets and dialled {self.dialled} times"
        if self.code != EQUAL:
            return f"{self.verdict()} (exit {self.code})"
        if (here := agents(self.out)) != (there := agents(recorded_out)):
            return f"{FALSE_EQUAL} printed otherwise: {first_difference(there, here)}"
        return ""

    def verdict(self) -> str:
        """The verdict in hark's own words: its line, and what it says of the first difference."""
        lines = [line.strip() for line in (self.out + "\n" + self.err).splitlines()]
        begun = [place for place, line in enumerate(lines) if re.match(r"(hark: )?REPLAY-", line)]
        if begun:
            return " ".join(lines[begun[0] : begun[0] + 4])
        ours = [line.removeprefix("hark: ") for line in lines if line.startswith("hark: ")]
        ours = [line for line in ours if not line.startswith(" ")]
        return (
            (ours[-1] if ours else "")
            or " / ".join(line for line in lines[-2:] if line)
            or "nothing was said"
        )


def agents(out: str) -> list[str]:
    """What the agent printed, without lines of hark's own."""
    return [line for line in out.splitlines() if not line.startswith(OURS)]


def first_difference(there: Sequence[str], here: Sequence[str]) -> str:
    """The first line that differs, of both."""
    for number, (one, other) in enumerate(zip(there, here, strict=False), 1):
        if one != other:
            return f"line {number} was {one[:80]!r} and is {other[:80]!r}"
    return f"{len(there)} lines were printed, and now {len(here)}"


def replay(recording: Recorded, kit: Kit, user: User, turn: int, *more: str) -> Replayed:
    """Replay in a fresh process and directory, with one or two busy processes beside it."""
    with tempfile.TemporaryDirectory(prefix=f"hark-again-{turn}-") as name, busy(1 + turn % 2):
        place = Path(name)
        place.chmod(0o755)
        own = place / "elsewhere"
        own.mkdir()
        shutil.copyfile(recording.bundle, own / "copy.hark")
        if os.geteuid() == 0:
            for path in (own, own / "copy.hark"):
                os.chown(path, user.uid, user.gid)
        words = ["replay", "-trust-bundle", *reading(recording, kit), *more, "copy.hark"]
        argv = [user.python, "-m", "hark.cli.main", *words]
        return alone(argv, user, own, recording.ports, clock.there(user, turn))


def reading(recording: Recorded, kit: Kit) -> list[str]:
    """What the one who replays shows the agent beside what is in the bundle."""
    shown = [f"{kit.packages}/py", f"{kit.packages}/npm"] if recording.packages else []
    shown += [f"{kit.agents}/py"] if recording.agents else []
    return [f"-read={folder}" for folder in shown if os.path.isdir(folder)]


def alone(
    command: Sequence[str], user: User, cwd: Path, ports: Sequence[int], more: Mapping[str, str] = NOTHING
) -> Replayed:
    """Run a command as a user in a network namespace of its own, and count what it sends.

    `more` is put into its environment.
    """
    report = cwd.parent / "report.json"
    listed = ",".join(map(str, ports))
    argv = [
        sys.executable,
        "-m",
        "fidelity.alone",
        str(report),
        str(user.uid),
        str(user.gid),
        listed,
        str(cwd),
    ]
    env = {**environment(user, cwd), **more}
    started = time.monotonic()
    with subprocess.Popen(
        [*argv, *command],
        env=env,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
    seconds = time.monotonic() - started
    found: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
    if not found and process.returncode == 0:
        raise RuntimeError(f"fidelity.alone left no report: {err.decode()}")
    return Replayed(
        found.get("code"), out.decode(), err.decode(), found.get("sent"), found.get("dialled", 0), seconds
    )


def environment(user: User, cwd: Path) -> Mapping[str, str]:
    """That of the one who replays: another home, zone and language than the recorder's, other places."""
    places = {"XDG_CONFIG_HOME": f"{cwd}/config", "XDG_STATE_HOME": f"{user.home}/state"}
    return dict(user.env) | places | {"PYTHONHASHSEED": "17", "COLUMNS": "61"}
