"""How commands open what the user named: a file that cannot be opened is a usage error (exit 2), a file that
is there and is no bundle is the bundle's fault (exit 1). New files are never written over old ones."""

import errno
import os
from typing import TYPE_CHECKING, Final

from hark.bundle.regular import open_regular
from hark.errors import HarkError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hark.bundle.note import Verifier
    from hark.bundle.walk import BundleFile

MAX_NAMED: Final = 8  # ids in one sentence; `hark ls` has them all


def checked(path: str) -> str:
    """Where `path` or the run of that id is, if it is a file that can be opened; else an OSError."""
    path = located(path)
    os.close(open_regular(path))
    return path


def located(name: str) -> str:
    """The path that `name` stands for: a file, or a run of this machine by its id, as `hark ls` shows it.

    The beginning of an id will do, in any case, where one run alone has it.
    """
    from hark.ids import begins_ulid, is_ulid

    if os.path.lexists(name) or not begins_ulid(name.upper()):
        return name
    from hark.bundle import store

    directory = store.runs_directory(os.environ)
    if is_ulid(name):
        return store.run_path(directory, name)
    found = store.named(directory, name.upper())
    if len(found) > 1:
        more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        raise UsageError(f"{name} could be any of {', '.join(found[:MAX_NAMED])}{more}; write more of the id")
    return store.run_path(directory, found[0]) if found else name


def own_key() -> bytes:
    """The public key of the caller's own signing key; empty where there is none to read."""
    from hark import keys

    try:
        return keys.public_from(f"{keys.user_key_path(os.environ)}.pub")
    except HarkError:
        return b""


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


def witness_keys(texts: "Sequence[str]") -> "tuple[Verifier, ...]":
    """The witnesses that `-witness KEY` named."""
    if not texts:
        return ()
    from hark.bundle import note

    return note.witness_keys(texts, "-witness")


def read(path: str, limit: int, what: str) -> bytes:
    """The whole file, at most `limit` bytes."""
    with open(open_regular(path), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UsageError(f"{path} is larger than {limit} bytes: it is no {what}")
    return data


def write_new(path: str, data: bytes) -> None:
    """Write a file that must not exist yet, whole or not at all."""
    from hark.newfile import writing

    refuse_nowhere(path)
    with writing(path, 0o644) as file:
        file.write(data)


def write_new_pieces(path: str, pieces: "Iterable[bytes]") -> None:
    """Write a new file that nobody else may read, and that is whole or not there."""
    from hark.newfile import writing

    with writing(path, 0o600) as file:
        for piece in pieces:
            file.write(piece)


def write_new_text(path: str, pieces: "Iterable[str]") -> None:
    """Write likewise what is text."""
    write_new_pieces(path, (piece.encode() for piece in pieces))


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
