"""Files that the operator names: regular files only, read with a ceiling, refused in one sentence."""

from hark.bundle.regular import open_regular
from hark.errors import PolicyError


def open_given(path: str, called: str) -> int:
    """Return a descriptor to read `path` with, which is `called` so in a refusal. Raises PolicyError."""
    try:
        return open_regular(path)
    except OSError as error:
        raise PolicyError(f"cannot read {called}: {(error.strerror or '').lower()}") from None


def read_given(path: str, limit: int, what: str) -> bytes:
    """Return all of `path`, at most `limit` bytes. Raises PolicyError."""
    with open(open_given(path, f"{what} {path}"), "rb") as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise PolicyError(f"{what} {path} is larger than {limit} bytes")
    return raw


def second_name(path: str) -> str:
    """Return the sentence for a file that a hard link gives another name, where no cover would lie."""
    return f"{path} has a second name (a hard link), by which the agent might read it; use a copy of its own"
