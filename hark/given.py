"""Files that the operator names: regular files only, read with a ceiling, refused in one sentence."""

from typing import BinaryIO

from hark.bundle.regular import open_regular
from hark.errors import PolicyError


def open_given(path: str, called: str) -> int:
    """Return a descriptor to read `path` with, which is `called` so in a refusal. Raises PolicyError."""
    try:
        return open_regular(path)
    except OSError as error:
        raise _unread(called, error) from None


def read_whole(path: str, most: int, called: str) -> bytes:
    """Return what `path` holds, and of more than `most` bytes one more than that. Raises PolicyError."""
    with open(open_given(path, called), "rb") as file:
        return read_open(file, most, called)


def read_open(file: BinaryIO, most: int, called: str) -> bytes:
    """Read the same from a file that is open. Raises PolicyError."""
    try:
        return file.read(most + 1)
    except OSError as error:  # of a disk that fails, or a file of /proc that is no text
        raise _unread(called, error) from None


def read_given(path: str, limit: int, what: str) -> bytes:
    """Return all of `path`, at most `limit` bytes. Raises PolicyError."""
    raw = read_whole(path, limit, f"{what} {path}")
    if len(raw) > limit:
        raise PolicyError(f"{what} {path} is larger than {limit} bytes")
    return raw


def _unread(called: str, error: OSError) -> PolicyError:
    return PolicyError(f"cannot read {called}: {(error.strerror or '').lower()}")


def second_name(path: str) -> str:
    """Return the sentence for a file that a hard link gives another name, where no cover would lie."""
    return f"{path} has a second name (a hard link), by which the agent might read it; use a copy of its own"
