"""A search through files for credentials, with a bound on what takes long.

What always holds: texts of which a great part are escapes (`%73`, `\\u0072`, `&#x2d;`) are searched up to
`MAX_DENSE` bytes of them all; a file beyond that is left out, which is said as of any other. Each escape is
undone before a value is looked for, so they take a hundred times as long as other texts.
"""

import threading
from typing import Final

from hark.snapshot.survey import Search

MAX_DENSE: Final = 16 << 20  # bytes: some seconds
DENSE: Final = 16  # one mark in so many bytes, and more
TOO_DENSE: Final = "it is made of escapes, and more of those than are searched for credentials"
_MARKS: Final = (b"%", b"\\", b"&")


class Weighed:
    """A search, as `hark.snapshot.survey.Search`. From any thread."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._left = MAX_DENSE
        self._lock = threading.Lock()

    def __call__(self, data: bytes) -> str | None:
        """Return the name of a secret whose value stands in `data`. Raises LeftOutError."""
        if sum(map(data.count, _MARKS)) * DENSE > len(data):
            with self._lock:
                self._left -= len(data)
                spent = self._left < 0
            if spent:
                from hark.snapshot.collect import (
                    LeftOutError,  # which loads zstd, that a start does not wait for
                )

                raise LeftOutError(TOO_DENSE)
        return self._search(data)
