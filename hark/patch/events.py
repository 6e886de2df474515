"""A stream of events (`text/event-stream`) as bytes: each event's data, and where in the stream it stands.

What always holds: nothing is lost or normalised; comments, other fields, line ends and a stream that breaks
off stay as they are. The grammar is that of the HTML standard, 9.2.5.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

from hark.patch.edits import Edit

_LINE: Final = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
_BREAK: Final = re.compile(rb"\r\n|\r|\n")
_BOM: Final = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line of data: where it begins, where its value begins and ends, and how it is ended."""

    begin: int
    start: int
    end: int
    broken: bytes


@dataclass(slots=True)
class Event:
    """One event that has data."""

    number: int
    """From 0."""
    lines: list[Line] = field(default_factory=list)
    data: bytes = b""
    """The lines put together."""
    starts: list[int] = field(default_factory=list)
    """Where in the data each line begins."""

    def at(self, place: int) -> int:
        """Return where in the stream a byte of the data stands."""
        number = bisect_right(self.starts, place) - 1
        return self.lines[number].start + place - self.starts[number]

    def raw(self, edit: Edit, stream: bytes) -> Edit:
        """Return an edit of the data as one of the stream, where each line of it is a line of data."""
        first = self.lines[0]
        begin = stream[first.begin : first.start]
        ended = next((line.broken for line in self.lines if line.broken), b"\n")
        new = (ended + begin).join(_BREAK.split(edit.new))
        return Edit(self.at(edit.start), self.at(edit.end), new)


def events(stream: bytes) -> Iterator[Event]:
    """Yield the events of a stream that have data, the last also where its end is missing."""
    event = Event(0)
    at = len(_BOM) if stream.startswith(_BOM) else 0
    while at < len(stream):
        line = _LINE.match(stream, at)
        if line is None:  # the pattern matches anything
            break
        at = line.end()
        if line[1]:
            _field(event, line)
        elif event.lines:
            yield _whole(event, stream)
            event = Event(event.number + 1)
    if event.lines:
        yield _whole(event, stream)


def _field(event: Event, line: re.Match[bytes]) -> None:
    name, colon, value = line[1].partition(b":")
    if name == b"data":
        start = line.start() + len(name) + len(colon) + value.startswith(b" ")
        event.lines.append(Line(line.start(), start, line.end(1), line[2]))


def _whole(event: Event, stream: bytes) -> Event:
    event.data = b"\n".join(stream[line.start : line.end] for line in event.lines)
    event.starts = list(accumulate((line.end - line.start + 1 for line in event.lines[:-1]), initial=0))
    return event
