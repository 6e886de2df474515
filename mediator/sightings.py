"""What looks like a token in answers: names only, for the record and the end of the run. Pure.

Not done here: keeping it from the agent. Where tokens are minted is a table (`mediator.endpoints`); a value
that turns up elsewhere may be anything, and replacing it would break what it is for.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from mediator.transcript import Headers

MIN_VALUE: Final = 16  # shorter ones are counters and flags
_TAIL: Final = 8192  # a name, a colon and a value
_HINTS: Final = (b"oken", b"ecret", b"OKEN", b"ECRET", b"api_key", b"apiKey", b"AccessKey")
_MEMBER: Final = re.compile(
    rb'"([A-Za-z0-9_.-]{0,40}(?:[Tt]oken|TOKEN|[Ss]ecret|SECRET|api_?[Kk]ey|[Aa]ccessKey)[A-Za-z0-9_.-]{0,20})"'
    rb'\s{0,9}:\s{0,9}"([A-Za-z0-9+/=._~-]{16,8000})"'
)
_OURS: Final = re.compile(rb"hark[A-Za-z0-9]{24}")


class Sighting:
    """One JSON body; it passes as it is."""

    resizes = False
    waiting = False

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self._tail = b""

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return it."""
        window, done = self._tail + data, 0
        if any(hint in window for hint in _HINTS):
            for found in _MEMBER.finditer(window):
                done = found.end()
                if not _OURS.search(found.group(2)):
                    self._told(found.group(1).decode())
        self._tail = window[max(done, len(window) - _TAIL) :]
        return data

    def release(self) -> bytes:
        """Return nothing: all has passed."""
        return b""

    def finish(self) -> bytes:
        """Return nothing: all has passed."""
        return b""


def cookies_in(headers: Headers) -> Iterator[str]:
    """Yield the names of cookies that are set to something long enough to be a session."""
    for name, value in headers:
        if name.lower() != b"set-cookie":
            continue
        cookie, _, content = value.partition(b";")[0].partition(b"=")
        if len(content.strip()) >= MIN_VALUE and not _OURS.search(content):
            yield cookie.strip().decode("latin-1")
