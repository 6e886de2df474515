"""Parts of a whole (`Range`), cut here where the server may be asked for the whole alone. No IO.

Always: a host that knows a credential is asked for no part, since a value given out in parts would be in none
of them (`mediator.forwarding`). It answers with the whole, which is searched; the agent gets the one part
that it asked for, as the server would have sent it. Programs that fetch a file in parts put each where it
belongs without looking at the status: the whole in the place of a part makes a wrong file.

That rests on what comes and not on how it was asked for: an answer that says it is a part is refused.

Not done here: several parts at once, and a whole whose length is not known before, or that is packed. Then
the whole passes, as a server may answer at any time (RFC 9110, 14.2).
"""

import re
from dataclasses import dataclass
from typing import Final

from mediator.fields import length, values_of
from mediator.transcript import Headers

OK: Final = 200
PARTIAL: Final = 206
_DELTA: Final = 226  # IM Used: a part of an instance, or what changed in it (RFC 3229)
_SEVERAL: Final = re.compile(rb"multipart/(?:x-)?byteranges(?:[ ;].*)?", re.IGNORECASE | re.DOTALL)
_ONE: Final = re.compile(rb"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))")
_OF_THE_WHOLE: Final = frozenset((b"content-md5", b"digest", b"content-digest", b"x-goog-hash"))
"""What a checksum of the whole stands in; with `x-amz-checksum-` and what follows."""


@dataclass(frozen=True, slots=True)
class Part:
    """From the byte `first` on, `size` of `total`."""

    first: int
    size: int
    total: int


def part_of(asked: Headers, sent: Headers, answer: Headers) -> Part | None:
    """Return the part that `asked` names and `sent` does not, of a whole with the head `answer`."""
    ranges, total = values_of(asked, b"range"), length(answer)
    if len(ranges) != 1 or values_of(sent, b"range") or not total:
        return None
    found = _ONE.fullmatch(ranges[0].strip())
    if found is None or values_of(answer, b"content-encoding") or not _is_still(asked, answer):
        return None
    if found[3] is not None:
        first, last = max(total - int(found[3]), 0), total - 1
    else:
        first, last = int(found[1]), min(int(found[2] or total), total - 1)
    return Part(first, last - first + 1, total) if first <= last else None


def is_part(status: int, answer: Headers) -> bool:
    """Tell whether an answer says that its body is not all of what was asked for.

    A Content-Range without a range says how long the whole is, and no more (RFC 9110, 14.4).
    """
    kinds, ranges = values_of(answer, b"content-type"), values_of(answer, b"content-range")
    return (
        status in (PARTIAL, _DELTA)
        or any(_SEVERAL.fullmatch(kind.strip()) for kind in kinds)
        or any(b"*/" not in value for value in ranges)
    )


def head_of(part: Part, answer: Headers) -> Headers:
    """Return the head of the answer that has the part alone."""
    kept = [
        (name, b"%d" % part.size if name.lower() == b"content-length" else value)
        for name, value in answer
        if name.lower() not in _OF_THE_WHOLE and not name.lower().startswith(b"x-amz-checksum-")
    ]
    last = part.first + part.size - 1
    return (*kept, (b"Content-Range", b"bytes %d-%d/%d" % (part.first, last, part.total)))


class Cut:
    """A stage that passes one part of a body."""

    resizes = False
    waiting = False

    def __init__(self, part: Part) -> None:
        self._skip = part.first
        self._left = part.size

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what of it belongs to the part."""
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        passed = data[skipped : skipped + self._left]
        self._left -= len(passed)
        return passed

    def release(self) -> bytes:
        """Return nothing: nothing is held."""
        return b""

    def finish(self) -> bytes:
        """Return nothing: nothing is held."""
        return b""


def _is_still(asked: Headers, answer: Headers) -> bool:
    """Tell whether the whole is the one of which the agent has the rest (`If-Range`)."""
    wanted = values_of(asked, b"if-range")
    if not wanted:
        return True
    known = values_of(answer, b"etag") + values_of(answer, b"last-modified")
    return len(wanted) == 1 and wanted[0] in known and not wanted[0].startswith(b"W/")
