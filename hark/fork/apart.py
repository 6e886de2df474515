"""`hark fork` as a program of its own: how it is begun, and what it has said when it has ended.

What always holds: the current directory is not among what it imports from; one that printed no verdict has
none, and says why in the last sentence of hark's own.
"""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any, Final

_SAID: Final = "hark: "
_MOST: Final = 16 << 20  # bytes of a verdict, which quotes what diverged
_TAIL: Final = 1 << 16  # bytes of what a fork said that are looked through for the reason it ended


def command(words: Iterable[str], bundle: str) -> tuple[str, ...]:
    """Return the command line of a fork of `bundle`."""
    return (sys.executable, "-P", "-m", "hark.cli.main", "fork", "-json", *words, "--", bundle)


def verdict(path: str) -> dict[str, Any]:
    """Return what a fork printed into this file; nothing where it printed no verdict."""
    with open(path, "rb") as file:
        lines = file.read(_MOST).splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("verdict"), str) else {}


def complaint(log: str, code: int) -> str:
    """Return why a fork without a verdict ended: what the agent printed stands between hark's sentences."""
    with open(log, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
        lines = file.read().decode("utf-8", "replace").splitlines()
    said = [line.removeprefix(_SAID) for line in lines if line.startswith(_SAID)]
    return said[-1] if said else f"hark fork ended with exit code {code} and without a verdict"


def late(seconds: float) -> str:
    """Return why a fork that took too long has no verdict."""
    return f"no answer in {seconds:g} s"
