"""The folders that a replay may write: a copy of the project and empty ones, made before, removed after.

Always: nothing of the caller's own files is written, moved or removed, and what stands in a copy (a folder
without permissions, a link that leads out, a name of any bytes) neither keeps it from being removed nor has
anything else written or removed. With a place to keep it, the copy is made there and stays. How a copy
outlasts no replay is `hark.snapshot.copies`'s.
"""

import os
import signal
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Final, NoReturn

from hark import ids
from hark.bundle.store import ensure_runs_directory
from hark.errors import ReplayError, UsageError
from hark.snapshot.copies import Copy, ready

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Throwaway:
    """Folders of one replay: the project's copy, and as many empty ones, or files, as are asked for."""

    project: str
    _beside: str
    _made: int = 0

    def empty(self, *, file: bool = False) -> str:
        """Make another empty folder, or file."""
        self._made += 1
        path = os.path.join(self._beside, f"write-{self._made}")
        if file:
            os.close(os.open(path, _NEW_FILE, 0o644))
        else:
            os.mkdir(path)
            os.chmod(path, 0o755)  # noqa: S103  # whatever the umask says: the agent can tell
        return path

    def place(self, path: str, *, folder: bool) -> bool:
        """Have something in the copy at `path` below it; False where a link or file is in the way.

        No link is followed: the copy is a stranger's.
        """
        *above, name = path.strip("/").split("/")
        at = os.open(self.project, _FOLDER)
        try:
            for part in above:
                at = _step(at, part)
            if folder:
                at = _step(at, name)
            elif not _is_there(at, name):
                os.close(os.open(name, _NEW_FILE, 0o600, dir_fd=at))
        except OSError:
            return False
        finally:
            os.close(at)
        return True


def _step(at: int, name: str) -> int:
    """Go down into a folder, made if it is missing; `at` is closed if that works."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=at)
    below = os.open(name, _FOLDER, dir_fd=at)
    os.close(at)
    return below


def _is_there(at: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=at)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def folders(keep: str | None, environ: Mapping[str, str]) -> Iterator[Throwaway]:
    """Make the folders; remove them, but for a project's copy at `keep`. Raises UsageError."""
    if keep is not None:
        _refuse_kept(keep)
    name = ids.ulid(time.time_ns(), os.urandom(ids.RANDOM_BYTES))
    with _removed_when_asked(), Copy(ready(ensure_runs_directory(environ)), name) as copy:
        beside = os.path.dirname(copy.path)
        if keep is None:
            yield Throwaway(copy.path, beside)
            return
        os.mkdir(keep, 0o755)
        yield Throwaway(os.path.abspath(keep), beside)


@contextmanager
def _removed_when_asked() -> Iterator[None]:
    """Have a polite request to end the process take the copy away first, as Ctrl-C does."""
    ending = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL
    ]
    for number in ending:
        signal.signal(number, _leave)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _refuse_kept(keep: str) -> None:
    if os.path.lexists(keep):
        raise UsageError(f"-keep {keep} exists, and hark overwrites nothing; name a new folder")
    above = os.path.dirname(os.path.abspath(keep))
    if not os.path.isdir(above):
        raise UsageError(f"-keep {keep}: there is no folder {above} to make it in")


def copy_tree(source: str, target: str, without: frozenset[str] = frozenset()) -> None:
    """Copy what lies below `source` into the empty folder `target`; links as links. Raises ReplayError.

    Sockets, pipes and devices are left out, and so are what the caller cannot read, and the paths `without`.
    """

    def ignore(folder: str, names: list[str]) -> list[str]:
        return [*_special(folder, names), *(name for name in names if f"{folder}/{name}" in without)]

    import shutil  # where the project is the caller's own directory alone

    try:
        shutil.copytree(
            source, target, symlinks=True, ignore=ignore, ignore_dangling_symlinks=True, dirs_exist_ok=True
        )
    except shutil.Error as error:
        failed = error.args[0]
        if not isinstance(failed, list) or any("Permission denied" not in str(one[2]) for one in failed):
            raise ReplayError(f"cannot copy {source}: {_first(failed)}") from None
    except OSError as error:
        raise ReplayError(f"cannot copy {source}: {error.strerror}") from None


def _special(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not _is_plain(os.path.join(folder, name))]


def _is_plain(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _first(failed: object) -> str:
    return str(failed[0][2]) if isinstance(failed, list) and failed else "it changed meanwhile"
