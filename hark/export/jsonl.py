"""One JSON object for each event, a line each: everything that the event holds, for programs.

Always: a line is ASCII without control characters. It has what `hark inspect -json` prints of the event, but
that bytes which are neither a hash nor UTF-8 are `{"base64": ...}`, and that `unix_ns` says what time it was.
Names are those of docs/format.md; one is added where a kind gains a field, and none changes its meaning. An
event whose payload was taken out has `fields` null.
"""

from hark import describe
from hark.bundle.events import decode_frame
from hark.bundle.frame import Frame
from hark.export.wall import Wall


def line(frame: Frame, wall: Wall) -> str:
    """Return an event as its line, without the end of it."""
    event = decode_frame(frame) if frame.payload else None
    extra = {"unix_ns": wall.at(frame.time), "leaf_hash": frame.leaf.hex()}
    return describe.to_json(frame.seq, frame.time, frame.kind, event, extra, spelled=describe.in_base64)
