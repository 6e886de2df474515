"""What looks like a token in answers: names only, for the record and the end of the run. No IO.

Always: JSON, forms and XML are looked at as a reader has them, of packed ones `MAX_UNPACKED` bytes.

Not done here: keeping it from the agent. Where tokens are minted is a table (`mediator.endpoints`); a value
that turns up elsewhere may be anything, and replacing it would break what it is for.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from mediator.codings import PackedError, Unpacking, codings_of
from mediator.spelling import Place
from mediator.substitution import place_of
from mediator.transcript import Headers

MIN_VALUE: Final = 16  # shorter ones are counters and flags
_TAIL: Final = 8192  # a name, a colon and a value
_HINTS: Final = (b"oken", b"ecret", b"OKEN", b"ECRET", b"api_key", b"apiKey", b"ccessKey", b"ccess_")
MAX_UNPACKED: Final = 4 << 20  # of one packed answer; a login has some kilobytes
_WORDS: Final = rb"(?:[Tt]oken|TOKEN|[Ss]ecret|SECRET|api_?[Kk]ey|[Aa]ccess_?[Kk]ey)"
_NAME: Final = rb"([A-Za-z0-9_.-]{0,40}" + _WORDS + rb"[A-Za-z0-9_.-]{0,20})"
_VALUE: Final = rb"([A-Za-z0-9+/=._~%-]{16,8000})"
_SHAPES: Final = {
    Place.JSON: re.compile(rb'"' + _NAME + rb'"\s{0,9}:\s{0,9}"' + _VALUE + rb'"'),
    Place.FORM: re.compile(rb"(?:\A|&)" + _NAME + rb"=" + _VALUE.replace(b"=", b"")),
    Place.XML: re.compile(rb"<" + _NAME + rb">\s{0,9}" + _VALUE + rb"\s{0,9}</"),
}
_OURS: Final = re.compile(rb"hark[A-Za-z0-9]{24}")


class _Enough(Exception):  # noqa: N818  # no error
    """So much of a packed answer is not looked at."""


class _Text:
    """One text in pieces."""

    def __init__(self, told: Callable[[str], None], shape: re.Pattern[bytes]) -> None:
        self._told = told
        self._shape = shape
        self._tail = b""
        self._size = 0

    def look(self, data: bytes) -> None:
        """Look at a piece."""
        window, done = self._tail + data, 0
        self._size += len(data)
        if any(hint in window for hint in _HINTS):
            for found in self._shape.finditer(window):
                done = found.end()
                if not _OURS.search(found.group(2)):
                    self._told(found.group(1).decode())
        self._tail = window[max(done, len(window) - _TAIL) :]

    def look_within(self, data: bytes) -> None:
        """Look at a piece of what was packed. Raises _Enough."""
        self.look(data)
        if self._size > MAX_UNPACKED:
            raise _Enough


class Sighting:
    """One body; it passes as it is. `told` hears the name of what looks like a token."""

    resizes = False
    waiting = False

    def __init__(
        self, told: Callable[[str], None], shape: re.Pattern[bytes], codings: tuple[bytes, ...] = ()
    ) -> None:
        self._look: Callable[[bytes], None] = _Text(told, shape).look
        if codings:
            self._look = Unpacking(codings, lambda: _Text(told, shape).look_within).feed

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return it."""
        try:
            self._look(data)
        except (PackedError, _Enough):  # whether it may pass is decided elsewhere
            self._look = _nothing
        return data

    def release(self) -> bytes:
        """Return nothing: all has passed."""
        return b""

    def finish(self) -> bytes:
        """Return nothing: all has passed."""
        return b""


def sighting_in(headers: Headers, told: Callable[[str, str], None]) -> Sighting | None:
    """Return what looks at the body of an answer, if that is of a kind that programs read tokens from.

    `told` hears in what (`json`, `form`, `xml`), and the name.
    """
    place = place_of(headers)
    if place not in _SHAPES:
        return None
    try:
        return Sighting(partial(told, place.name.lower()), _SHAPES[place], codings_of(headers))
    except PackedError:
        return None


def _nothing(_data: bytes) -> None:
    """Look at nothing any more."""


def cookies_in(headers: Headers) -> Iterator[str]:
    """Yield the names of cookies that are set to something long enough to be a session."""
    for name, value in headers:
        if name.lower() != b"set-cookie":
            continue
        cookie, _, content = value.partition(b";")[0].partition(b"=")
        if len(content.strip()) >= MIN_VALUE and not _OURS.search(content):
            yield cookie.strip().decode("latin-1")
