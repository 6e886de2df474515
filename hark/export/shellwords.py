"""Recorded bytes as words of a POSIX shell, which take them apart into exactly those bytes again.

Always: what is written is ASCII or plainly printable, so nothing recorded acts on the terminal that shows it
or on the shell that reads it; a secret's placeholder becomes `"${NAME:?}"`, which stops the command while
NAME is not set. Not every sequence of bytes is an argument: one with a NUL is none (`fits`).
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from hark.visible import is_plain

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MIN_PLACEHOLDER: Final = (
    24  # no placeholder of hark's is shorter; a bundle's word for a shorter one is passed over
)
_MARK: Final = "hark"


def variables(placeholders: Mapping[str, str], *, named: bool) -> dict[bytes, str]:
    """Return placeholder -> name of the shell variable for it, from placeholder -> name of the secret.

    Without `named` the variables have names of our own: a stranger's bundle could name a variable that
    is set already, and have its value sent wherever it says.
    """
    found: dict[bytes, str] = {}
    for placeholder, name in placeholders.items():
        if len(placeholder) >= MIN_PLACEHOLDER and _MARK in placeholder:
            ours = f"HARK_SECRET_{len(found) + 1}"
            found[placeholder.encode()] = name if named and _NAME.fullmatch(name) else ours
    return found


def fits(data: bytes) -> bool:
    """Tell whether a program can be given these bytes as an argument."""
    return b"\0" not in data


def parted(data: bytes, names: Mapping[bytes, str]) -> Iterator[tuple[bytes, str]]:
    """Yield the bytes between placeholders, each with the variable that follows it, or nothing."""
    if not names:
        yield data, ""
        return
    either = re.compile(b"|".join(re.escape(one) for one in sorted(names, key=len, reverse=True)))
    at = 0
    for match in either.finditer(data):
        yield data[at : match.start()], names[match[0]]
        at = match.end()
    yield data[at:], ""


def word(data: bytes, names: Mapping[bytes, str]) -> str:
    """Return one argument. The bytes MUST fit."""
    found = ""
    for piece, name in parted(data, names):
        found += _quoted(piece) if piece else ""
        found += f'"{held(name)}"' if name else ""
    return found or "''"


def held(name: str) -> str:
    """Return how a variable is used: unset or empty, it is an error."""
    return f"${{{name}:?}}"


def _quoted(data: bytes) -> str:
    """Plain text and line breaks in quotes; each run of other bytes by printf, in octal."""
    found = ""
    for plain, run in groupby(data.decode("utf-8", "surrogateescape"), _is_shown):
        text = "".join(run)
        found += shlex.quote(text) if plain else _printed(text.encode("utf-8", "surrogateescape"))
    return found


def _is_shown(char: str) -> bool:
    return char == "\n" or is_plain(char)


def _printed(data: bytes) -> str:
    """Never with a line break at the end, which a shell would drop."""
    octal = "".join(f"\\{byte:03o}" for byte in data)
    return f"\"$(printf '{octal}')\""
