"""Where bundles are while they are written: `$XDG_STATE_HOME/hark/runs`, one file a run, named by its id.

What always holds: the directory is the user's alone (0700), and outside every grant. What a run's state is,
is read from the file: locked means running, a footer means sealed, neither means that its writer was
killed. A state is a glance and no verdict: whether a sealed bundle verifies is `hark.verify`'s to say.
"""

import os
import stat
from collections.abc import Mapping
from typing import Final, NamedTuple

from hark.bundle.disk import is_locked
from hark.bundle.header import Header
from hark.bundle.walk import AT_FOOTER, BundleFile
from hark.errors import BundleError, PolicyError, no_place
from hark.ids import is_ulid

SUFFIX: Final = ".hark"

RUNNING: Final = "running"
SEALED: Final = "sealed"
KILLED: Final = "killed"
UNREADABLE: Final = "unreadable"


class Run(NamedTuple):
    """One bundle in the store."""

    run_id: str
    path: str
    state: str
    size: int
    events: int
    header: Header | None
    """None if not even that can be read."""


def runs_directory(environ: Mapping[str, str]) -> str:
    """The directory's path; nothing is made."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: a relative path is to be ignored
        home = environ.get("HOME", "")
        if not os.path.isabs(home):
            raise PolicyError("neither XDG_STATE_HOME nor HOME says where bundles are kept; set one")
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "hark", "runs")


def ensure_runs_directory(environ: Mapping[str, str]) -> str:
    """The directory, made if it is missing; one that others could reach into is refused."""
    path = runs_directory(environ)
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        info = os.lstat(path)
    except OSError as error:
        raise PolicyError(no_place(f"keep bundles in {path}", error, "XDG_STATE_HOME")) from None
    if not stat.S_ISDIR(info.st_mode) or info.st_uid not in {os.geteuid(), 0}:
        raise PolicyError(f"cannot keep bundles in {path}: it is not a directory of yours")
    if info.st_mode & 0o077:
        raise PolicyError(f"others can reach into {path}; run: chmod 700 {path}")
    return path


def run_path(directory: str, run_id: str) -> str:
    """Where the bundle of a run is."""
    return os.path.join(directory, run_id + SUFFIX)


def named(directory: str, prefix: str = "") -> list[str]:
    """The ids in the store that begin with `prefix`, oldest first."""
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    stems = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    return [stem for stem in stems if is_ulid(stem) and stem.startswith(prefix)]


def list_runs(directory: str) -> list[Run]:
    """Every bundle in the store, oldest first. A file that goes away meanwhile is left out."""
    paths = [run_path(directory, run_id) for run_id in named(directory)]
    return [run for path in paths if os.path.exists(path) and (run := look(path)) is not None]


def look(path: str) -> Run | None:
    """What a glance at one bundle says; None if it is gone."""
    run_id = os.path.basename(path).removesuffix(SUFFIX)
    try:
        with BundleFile(path) as file:
            running = is_locked(file.fd)  # asked before the size is: what a run that ended wrote is all there
            file.size = os.fstat(file.fd).st_size
            walk = file.walk()
            events = sum(len(chunk.starts) for chunk in walk)
            state = RUNNING if running else SEALED if _has_footer(file, walk.end, walk.at) else KILLED
            return Run(run_id, path, state, file.size, events, file.header)
    except BundleError:
        try:
            return Run(run_id, path, UNREADABLE, os.stat(path).st_size, 0, None)
        except FileNotFoundError:
            return None


def _has_footer(file: BundleFile, end: str | None, at: int) -> bool:
    return end == AT_FOOTER and file.footer_block(at) is not None
