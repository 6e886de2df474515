"""Throw-away copies of recorded projects: one folder each, beside the bundles, gone when their replay is.

A lock is taken under the copy's name before the copy exists and held for as long as it is needed. Whoever
makes the next copy, or clears runs, removes each copy whose lock nobody holds: so one that was left by
SIGKILL lasts until then. The folder is the user's alone, and outside of every grant. Removal may be asked
for more than once.
"""

import contextlib
import fcntl
import os
from types import TracebackType
from typing import Final, Self

from hark.errors import UsageError
from hark.ids import is_ulid

_LOCK: Final = ".lock"
_TREE: Final = "tree"


class Copy:
    """A folder of one's own. As a context manager it leaves nothing behind."""

    def __init__(self, directory: str, name: str) -> None:
        """`directory` MUST exist and be the user's alone; `name` is a ULID that nothing has yet."""
        self._lock_path = f"{directory}/{name}{_LOCK}"
        self._place = f"{directory}/{name}"
        self.path: Final = f"{self._place}/{_TREE}"
        """An empty folder at first. The one above it is closed to others, whatever mode this one is given."""
        try:
            self._lock = _locked(self._lock_path)
            os.mkdir(self._place, 0o700)
            os.mkdir(self.path)
            os.chmod(self.path, 0o755)  # noqa: S103  # whatever the umask says: the agent can tell
        except OSError as error:
            raise UsageError(f"cannot make a copy of the project in {directory}: {error.strerror}") from error

    def remove(self) -> None:
        """Take it away, whatever modes an agent gave to what is in it."""
        _remove(self._place)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._lock_path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _locked(path: str) -> int:
    """Make a lock and take it. Until it is taken another's sweep may take it for nobody's and remove it."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        os.close(lock)


def beside(runs: str) -> str:
    """Where copies are: beside the directory of the bundles. Nothing is made."""
    return f"{os.path.dirname(runs)}/copies"


def ready(runs: str) -> str:
    """Make that directory if it is missing, and clear it of what nobody holds."""
    path = beside(runs)
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        os.chmod(path, 0o700)
    except OSError as error:
        raise UsageError(f"cannot make {path}: {error.strerror}") from error
    sweep(path)
    return path


def sweep(path: str) -> int:
    """Remove every copy in the directory that nobody holds; returns how many."""
    try:
        names = os.listdir(path)
    except OSError:
        return 0
    removed = 0
    for name in names:
        stem = name.removesuffix(_LOCK)
        if name.endswith(_LOCK) and is_ulid(stem):
            removed += _sweep_one(path, stem)
    return removed


def _sweep_one(path: str, stem: str) -> int:
    try:
        lock = os.open(f"{path}/{stem}{_LOCK}", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 0  # somebody works in it
    else:
        _remove(f"{path}/{stem}")
        with contextlib.suppress(OSError):
            os.unlink(f"{path}/{stem}{_LOCK}")
        return 1
    finally:
        os.close(lock)


def _remove(path: str) -> None:
    import shutil  # nothing is removed before a replay has ended

    shutil.rmtree(path, ignore_errors=True)
    if os.path.isdir(path):  # an agent closed folders to everybody, their owner too
        _open_up(path)
        shutil.rmtree(path, ignore_errors=True)


def _open_up(path: str) -> None:
    """Let the owner into every folder. Nobody works in the tree any more, so a name stays what it is."""
    pending = [path]
    while pending:
        here = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(here, 0o700)
            with os.scandir(here) as entries:
                pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
