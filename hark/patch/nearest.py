"""What comes nearest to something that was looked for and is not there, in words that are safe to print.

What always holds: the cost is bounded, whatever the texts: of what was looked for some hundred characters
count, and of the texts together `MAX_SEARCHED` bytes.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from hark.replay.difference import shown
from hark.visible import visible, visible_bytes

MAX_SEARCHED: Final = 2 << 20
MAX_WANTED: Final = 160  # bytes
LEAST: Final = 4  # bytes in common; fewer are in any text
AROUND: Final = 24  # bytes on either side of what is in common
MAX_NAMES: Final = 2000
MAX_NAME: Final = 200


def text(wanted: bytes, texts: Iterable[tuple[str, bytes]]) -> str:
    """Return the stretch that has most in common with `wanted`, and in which of the named texts it is.

    Nothing where no text has anything like it.
    """
    wanted = wanted[:MAX_WANTED]
    room, best, found = MAX_SEARCHED, LEAST - 1, ""
    for where, whole in texts:
        searched = whole[:room]
        room -= len(searched)
        size, ours, theirs = _common(wanted, searched, best)
        if size > best:
            begin = max(theirs - ours, theirs - AROUND, 0)
            end = max(theirs + size, min(theirs - ours + len(wanted), theirs + size + AROUND))
            best, found = size, f'"{_characters(searched, begin, end)}" in {where}'
        if room <= 0:
            break
    return found


def name(wanted: str, known: Iterable[str]) -> str:
    """Return which of the known names is nearest; nothing where none is near."""
    near = names(wanted, known, 1)
    return visible(near[0]) if near else ""


def names(wanted: str, known: Iterable[str], many: int, cutoff: float = 0.5) -> list[str]:
    """Return the known names that are nearest, of a bounded number and with a bounded part of each."""
    short: dict[str, str] = {}
    for one in known:
        short.setdefault(one[:MAX_NAME], one)
        if len(short) == MAX_NAMES:
            break
    return [short[one] for one in get_close_matches(wanted[:MAX_NAME], list(short), many, cutoff)]


def quoted(wanted: str) -> str:
    """Return what was looked for as far as a line has room."""
    return f'"{shown(wanted)}"'


def _common(wanted: bytes, searched: bytes, least: int) -> tuple[int, int, int]:
    """Return the longest stretch that both have, if it is longer than `least`: its size and places."""
    size, ours = least, -1
    for at in range(len(wanted)):
        while at + size < len(wanted) and wanted[at : at + size + 1] in searched:
            size, ours = size + 1, at
    if ours < 0:
        return 0, 0, 0
    return size, ours, searched.index(wanted[ours : ours + size])


def _characters(data: bytes, begin: int, end: int) -> str:
    """Return a stretch in words, without half a character at either end."""
    while begin < end and data[begin] & 0xC0 == 0x80:
        begin += 1
    while end < len(data) and data[end] & 0xC0 == 0x80 and end - begin < MAX_WANTED * 2:
        end += 1
    return visible_bytes(data[begin:end])
