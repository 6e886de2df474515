"""Runs a probe: recorded and replayed, without shims, and without hark. What it printed is the result."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fidelity.recording import Kit
from fidelity.replaying import environment
from fidelity.sources.runtimes import PROBES, Runtime
from tests.e2e.rig import desk
from tests.support.user import User, identity

PATIENCE_S: Final = 180
REAL: Final = '[replay]\nclock = "real"\nrandomness = "real"\n'
type Values = Mapping[str, str]
"""What a probe found, by source."""

ELSEWHERE: Final = """
import os, socket, sys
uid, gid, *argv = sys.argv[1:]
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
if os.geteuid() == 0:
    os.unshare(os.CLONE_NEWUTS)
    socket.sethostname("elsewhere")
    os.setgroups([])
    os.setgid(int(gid))
    os.setuid(int(uid))
os.execv(argv[0], argv)
"""
"""Another machine, as far as that can be had here: one processor, another name, another user."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One program run twice."""

    first: Values
    second: Values
    reports: tuple[str, ...] = ()
    """What the first run's record says of programs that no shim reached (kind 39)."""
    in_force: tuple[str, ...] = ()
    """And of the mechanisms that were in force (kind 47)."""


def recorded_and_replayed(runtime: Runtime, kit: Kit, user: User, more_policy: str = "") -> Pair:
    """Record, then replay as somebody else, elsewhere. RuntimeError if one of them did not run."""
    with (
        tempfile.TemporaryDirectory(prefix="hark-source-") as name,
        tempfile.TemporaryDirectory(prefix="hark-source-", dir=other_file_system()) as other,
    ):
        place = Path(name)
        for folder in (name, other):
            os.chmod(folder, 0o755)
        work = place / "recording"
        work.mkdir()
        with desk(kit.user, work) as at:
            at.write(runtime.probe, (PROBES / runtime.probe).read_bytes())
            at.write("policy.toml", policy(runtime) + more_policy)
            ended = at.run("-policy=policy.toml", "--", *runtime.argv, timeout=PATIENCE_S)
            first = values(ended.stdout, ended.stderr)
            reports = tuple(one["source"] + ": " + one["why"] for one in at.events("ShimReport"))
            in_force = tuple(word for one in at.events("Determinism") for word in one["mechanisms"])
            shutil.copyfile(at.bundle, place / "run.hark")
        shutil.rmtree(work)
        return Pair(first, again(place / "run.hark", runtime, user, Path(other)), reports, in_force)


def other_file_system() -> str | None:
    """A folder on another file system than that of temporary files, so in another order; or None."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def policy(runtime: Runtime) -> str:
    """What the probe may read, and its environment."""
    lines = [f"read_paths = [{', '.join(f'"{path}"' for path in runtime.reads)}]"]
    if runtime.env:
        lines += ["[env.set]", *(f'{name} = "{value}"' for name, value in runtime.env.items())]
    return "\n".join([*lines, ""])


def again(bundle: Path, runtime: Runtime, user: User, place: Path) -> Values:
    """Replay."""
    own = folder_of(user, place / "elsewhere")
    shutil.copyfile(bundle, own / "copy.hark")
    (own / "copy.hark").chmod(0o644)
    reads = [f"-read={path}" for path in runtime.reads]
    words = ["-m", "hark.cli.main", "replay", "-trust-bundle", *reads, "copy.hark"]
    return elsewhere([user.python, *words], user, own, environment(user, own))


def folder_of(user: User, path: Path) -> Path:
    """A new folder of a user's."""
    path.mkdir()
    if os.geteuid() == 0:
        os.chown(path, user.uid, user.gid)
    return path


def elsewhere(argv: Sequence[str], user: User, cwd: Path, env: Mapping[str, str]) -> Values:
    """Run as another user on what looks like another machine."""
    words = [sys.executable, "-c", ELSEWHERE, str(user.uid), str(user.gid), *argv]
    return run(words, cwd, env)


def run(words: Sequence[str], cwd: Path, env: Mapping[str, str], **who: object) -> Values:
    """Run to the end and read what was printed."""
    ended = subprocess.run(
        words, cwd=cwd, env=dict(env), capture_output=True, text=True, errors="replace", check=False,
        stdin=subprocess.DEVNULL, timeout=PATIENCE_S, **who,
    )  # fmt: skip
    return values(ended.stdout, ended.stderr)


def bare(runtime: Runtime, kit: Kit, user: User) -> Pair:
    """The program twice without hark: by the one and by the other user, on what looks like two machines."""
    with (
        tempfile.TemporaryDirectory(prefix="hark-bare-") as one,
        tempfile.TemporaryDirectory(prefix="hark-bare-", dir=other_file_system()) as other,
    ):
        here = at_hand(runtime, kit.user, Path(one))
        there = at_hand(runtime, user, Path(other))
        env = dict(kit.user.env) | runtime.env
        first = run(runtime.argv, here, env, **identity(kit.user))
        return Pair(first, elsewhere(runtime.argv, user, there, dict(environment(user, there)) | runtime.env))


def at_hand(runtime: Runtime, user: User, place: Path) -> Path:
    """A folder of the user's with the probe in it."""
    place.chmod(0o755)
    own = folder_of(user, place / "own")
    shutil.copyfile(PROBES / runtime.probe, own / runtime.probe)
    (own / runtime.probe).chmod(0o644)
    return own


def values(out: str, err: str) -> Values:
    """What a probe printed. RuntimeError if that is nothing."""
    found = dict(line.split("\t", 1) for line in out.splitlines() if "\t" in line)
    if not found:
        raise RuntimeError(f"nothing was printed: {(err or out).strip()[-400:]}")
    return found
