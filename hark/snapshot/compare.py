"""How a tree differs from a recorded manifest, in words: a reviewer's own checkout, for one."""

import os
import stat
from typing import Final

from blake3 import blake3

from hark.snapshot.collect import MAX_UNKEPT, LeftOutError, hashed
from hark.snapshot.ignoring import Rules
from hark.snapshot.names import spelled
from hark.snapshot.stored import Stored
from hark.snapshot.survey import Descent, survey

MAX_NAMED: Final = 20


def differences(stored: Stored, root: str, most: int = MAX_UNKEPT) -> list[str]:
    """Name each file of `root` that is not as recorded. Raises OSError where the root cannot be opened.

    What the recording left out is not looked at, nor what git ignores in `root`; files beyond `most` bytes of
    reading are named as not compared.
    """
    looked = survey(root, Rules(), ())
    found: dict[str, str] = {}
    missing = set(stored.entries)
    with Descent(root) as descent:
        for path, status in looked.files():
            name = spelled(path)
            if _is_left_out(name, stored):
                continue
            known = stored.entries.get(name)
            missing.discard(name)
            if known is None:
                found[name] = "is not in the recording"
            elif known:
                said, most = _compared(descent, path, status, known, most)
                if said:
                    found[name] = said
    found |= dict.fromkeys(missing, "is missing")
    return [f"{name} {what}" for name, what in sorted(found.items())]


def in_words(named: list[str]) -> list[str]:
    """As many lines as anybody reads."""
    rest = len(named) - MAX_NAMED
    return [*named[:MAX_NAMED], *([f"and {rest} more differ"] if rest > 0 else [])]


def _is_left_out(name: str, stored: Stored) -> bool:
    if name in stored.left_out:
        return True
    parts = name.split("/")
    return any("/".join(parts[:end]) + "/" in stored.left_out for end in range(1, len(parts)))


def _compared(
    descent: Descent, path: bytes, status: os.stat_result, known: bytes, most: int
) -> tuple[str, int]:
    folder, _, name = path.rpartition(b"/")
    try:
        if stat.S_ISLNK(status.st_mode):
            found = blake3(os.readlink(name, dir_fd=descent.folder(folder))).digest()
        elif status.st_size > most:
            return "was not compared: there is too much to read", most
        else:
            most -= status.st_size
            with open(descent.file(folder, name), "rb", buffering=0) as file:
                found = hashed(file.fileno(), None, status.st_size)
    except (OSError, LeftOutError):
        return "cannot be read", most
    return ("" if found == known else "differs"), most
