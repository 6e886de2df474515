"""Placeholders by the name of their secret: each run draws others, and means the same.

What always holds: what stands for a placeholder has a NUL at both ends, and where a run has placeholders each
NUL of its data is doubled, so that no other text is taken for one: read from the left, a NUL with another
behind it is data, and one without begins a mark that goes to the next.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Final

from hark.policy.jsonpath import Steps
from hark.replay.headers import Fields

_ARGUMENTS: Final = ("params", "arguments")
"""Where those of a tool call stand in its message (MCP, tools/call)."""
_BASIC: Final = re.compile(rb"basic[ \t]+([A-Za-z0-9+/=]+)", re.IGNORECASE)


class Marks:
    """What replaces the placeholders of one run."""

    def __init__(
        self,
        placeholders: Mapping[str, str],
        undo: Callable[[bytes], bytes] | None = None,
        ignored: tuple[Steps, ...] = (),
    ) -> None:
        """`undo` is what a renaming is undone with (`hark.replay.renamed`), before all else.

        `ignored` is what of JSON messages never counts.
        """
        self.ignored = ignored
        self.ignored_arguments = tuple(steps[2:] for steps in ignored if steps[:2] == _ARGUMENTS)
        self.undo = undo
        self._names = {
            placeholder.encode(): b"\0secret " + name.encode() + b"\0"
            for placeholder, name in placeholders.items()
            if placeholder
        }
        longest = sorted(self._names, key=len, reverse=True)
        self._any = re.compile(b"|".join(map(re.escape, longest))) if longest else None

    def on(self, data: bytes) -> bytes:
        """Return `data` with each placeholder as its mark."""
        if self.undo is not None:
            data = self.undo(data)
        if self._any is None:
            return data
        data = data.replace(b"\0", b"\0\0")
        return self._any.sub(lambda found: self._names[found[0]], data)

    def on_fields(self, fields: Fields) -> Fields:
        """Return headers likewise, also within Basic authorisation."""
        if self._any is None and self.undo is None:
            return fields
        return tuple((self.on(name), self._basic(value) or self.on(value)) for name, value in fields)

    def _basic(self, value: bytes) -> bytes | None:
        """Return what Basic authorisation says, where a placeholder is in it."""
        found = _BASIC.fullmatch(value)
        if found is None:
            return None
        try:
            plain = base64.b64decode(found[1], validate=True)
        except binascii.Error:
            return None
        if self._any is None or not self._any.search(plain if self.undo is None else self.undo(plain)):
            return None
        return b"Basic \0" + self.on(plain)
