"""How commands open what the user named: a file that cannot be opened is a usage error (exit 2), a file that
is there and is no bundle is the bundle's fault (exit 1). New files are never written over old ones."""

import errno
import os
from typing import TYPE_CHECKING

from hark.bundle.regular import open_regular
from hark.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hark.bundle.walk import BundleFile


def checked(path: str) -> str:
    """Where `path` or the run of that id is, if it is a file that can be opened; else an OSError."""
    path = located(path)
    os.close(open_regular(path))
    return path


def located(name: str) -> str:
    """The path that `name` stands for: a file, or a run of this machine by its id, as `hark ls` shows it."""
    from hark.ids import is_ulid

    if os.path.lexists(name) or not is_ulid(name):
        return name
    from hark.bundle import store

    return store.run_path(store.runs_directory(os.environ), name)


def opened(path: str) -> "BundleFile":
    """The bundle, its header read."""
    from hark.bundle.walk import BundleFile

    return BundleFile(checked(path))


def pinned(texts: "Sequence[str]") -> tuple[bytes, ...]:
    """The public keys that `-key HEX|FILE` named."""
    if not texts:
        return ()
    from hark import keys

    return tuple(keys.public_from(text) for text in texts)


def read(path: str, limit: int, what: str) -> bytes:
    """The whole file, at most `limit` bytes."""
    with open(open_regular(path), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UsageError(f"{path} is larger than {limit} bytes: it is no {what}")
    return data


def write_new(path: str, data: bytes) -> None:
    """Write a file that must not exist yet, whole or not at all."""
    refuse_nowhere(path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with open(fd, "wb") as file:
            file.write(data)
    except OSError as error:
        os.unlink(path)
        raise OSError(error.errno, error.strerror, path) from None


def refuse_existing(path: str) -> None:
    """An OSError that names a file to write which is there already; a UsageError if its directory is not."""
    refuse_nowhere(path)
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


def refuse_nowhere(path: str) -> None:
    """A UsageError that names the directory to make before `path` can be written."""
    directory = os.path.dirname(path)
    if directory and not os.path.lexists(directory):
        from shlex import quote  # only on the way to an error: it brings re

        words = f"there is no directory {directory} to write in"
        raise UsageError(f"{words}; make it first: mkdir -p {quote(directory)}")
