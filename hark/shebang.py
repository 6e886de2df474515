"""The first line of a script as the kernel reads it: which program is executed in the script's place.

Bytes to words; nothing is looked up. The line may be hostile: an agent of an earlier run may have written it.
"""

import os
from typing import Final

SHEBANG_BYTES: Final = 256  # BINPRM_BUF_SIZE: the kernel reads no more of a `#!` line
_FIRST_WORD_ENDS: Final = (b" ", b"\t", b"\0")


def shebang(head: bytes) -> list[str]:
    """Return the words of the `#!` line that a file begins with: none where the kernel sees none in it.

    As load_script in the kernel's fs/binfmt_script.c: spaces and tabs alone stand between words, NUL ends the
    first one, and a line whose first word does not end within what the kernel reads is no such line.
    """
    head = head[:SHEBANG_BYTES]
    if not head.startswith(b"#!"):
        return []
    line, newline, _ = head[2:].partition(b"\n")
    line = line.lstrip(b" \t")
    if not newline and len(head) == SHEBANG_BYTES and not any(end in line for end in _FIRST_WORD_ENDS):
        return []
    line = line.partition(b"\0")[0]
    return [os.fsdecode(word) for word in line.replace(b"\t", b" ").split(b" ") if word]


def behind_env(words: list[str]) -> str | None:
    """Return the name of the interpreter that a `#!` line has env(1) look up; None where it names a path."""
    if os.path.basename(words[0]) != "env":
        return None
    return next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
