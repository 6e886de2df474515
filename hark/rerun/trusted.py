"""Whose bundles the caller replays without being asked: a list of public keys, one a line.

`$XDG_CONFIG_HOME/hark/trusted-keys`, beside hark's own key and as invisible to every agent. A line is 64 hex
digits and, behind a blank, a remark; `#` begins a comment. A list that others can write is refused, and so is
a line that is no key: a list half understood trusts whom nobody meant. Nothing in a bundle adds to it.
"""

import os
import stat
from collections.abc import Mapping
from datetime import date
from typing import Final

from hark.bundle.regular import open_regular
from hark.errors import PolicyError, UsageError
from hark.keys import HEX_DIGITS, ensure_private_directory, user_key_path
from hark.visible import visible

NAME: Final = "trusted-keys"
MAX_LIST: Final = 1 << 20  # bytes: ten thousand keys with remarks
_HEX: Final = frozenset("0123456789abcdef")


def list_path(environ: Mapping[str, str]) -> str:
    """Where the caller's list lies."""
    return os.path.join(os.path.dirname(user_key_path(environ)), NAME)


def read_list(path: str) -> dict[bytes, str]:
    """Return keys and their remarks. Raises PolicyError; OSError where there is no file."""
    descriptor = open_regular(path)
    with open(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        text = file.read(MAX_LIST + 1)
    if status.st_uid not in {0, os.geteuid()} or stat.S_IMODE(status.st_mode) & 0o022:
        raise PolicyError(f"{path} can be written by others; make it yours alone: chmod go-w {path}")
    if len(text) > MAX_LIST:
        raise PolicyError(f"{path} is larger than {MAX_LIST} bytes: it is no list of keys")
    return parse(text.decode("utf-8", "replace"), path)


def parse(text: str, source: str) -> dict[bytes, str]:
    """Return keys and their remarks. Raises PolicyError for a line that is neither key nor comment."""
    found: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        digits, _, remark = stripped.partition(" ")
        if len(digits) != HEX_DIGITS or set(digits.lower()) - _HEX:
            raise PolicyError(
                f"line {number} of {source} does not begin with a key of {HEX_DIGITS} hex digits"
            )
        found[bytes.fromhex(digits)] = remark.strip()
    return found


def known(environ: Mapping[str, str], other: str | None = None) -> dict[bytes, str]:
    """Return the keys of the caller's own list and of one named on the command line."""
    found = {}
    if other is not None:
        try:
            found = read_list(other)
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"cannot read -trusted-keys {other}: {why}") from None
    try:
        return read_list(list_path(environ)) | found
    except FileNotFoundError:
        return found
    except OSError as error:
        raise PolicyError(f"cannot read {list_path(environ)}: {error.strerror}") from None


def add(environ: Mapping[str, str], public: bytes, remark: str) -> bool:
    """Add a key to the caller's list, for good; False where it was there already."""
    path = list_path(environ)
    ensure_private_directory(os.path.dirname(path))
    if os.path.lexists(path) and public in read_list(path):
        return False
    line = f"{public.hex()} {visible(remark)} ({date.today().isoformat()})\n"  # noqa: DTZ011  (a remark)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "ab") as file:
        file.write(line.encode())
    return True
