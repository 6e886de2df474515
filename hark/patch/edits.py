"""Bytes taken out of a text and put in: what every change of a body comes down to.

What always holds: edits do not overlap, and everything outside of them stays byte for byte where it was, in
the chunk in which it was; what is put in goes to the chunk in which its edit begins.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """`new` in place of the bytes from `start` to `end`."""

    start: int
    end: int
    new: bytes

    def moved(self, by: int) -> "Edit":
        """Return the same edit in a text that has `by` more bytes in front."""
        return Edit(self.start + by, self.end + by, self.new)


def edited(text: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `text` with the edits made."""
    return b"".join(across([text], edits))


def across(chunks: Sequence[bytes], edits: Iterable[Edit]) -> list[bytes]:
    """Return the chunks of one text with the edits made; there are as many as before, some perhaps empty."""
    waiting = sorted(edits, reverse=True)
    last = max((number for number, chunk in enumerate(chunks) if chunk), default=0)
    made: list[bytes] = []
    begin = done = 0
    for number, chunk in enumerate(chunks):
        end = begin + len(chunk)
        pieces = []
        while waiting and (waiting[-1].start < end or number == last):
            edit = waiting.pop()
            pieces += [chunk[max(done - begin, 0) : max(edit.start - begin, 0)], edit.new]
            done = max(done, edit.end)
        pieces.append(chunk[max(done - begin, 0) :])
        made.append(b"".join(pieces))
        begin = end
        done = max(done, begin)
    return made


def each(text: bytes, old: bytes, new: bytes) -> list[Edit]:
    """Return the edits that replace every `old` in `text`, from left to right."""
    found: list[Edit] = []
    at = text.find(old)
    while at >= 0:
        found.append(Edit(at, at + len(old), new))
        at = text.find(old, at + len(old))
    return found
