"""A patch as values: what is to be changed in one recorded answer or request, step by step."""

from dataclasses import dataclass
from typing import NamedTuple

from hark.patch.pointer import Steps
from hark.patch.where import Side


class Replace(NamedTuple):
    """A text by another one, everywhere, or in the first `most` places alone."""

    old: str
    new: str
    most: int | None = None


class SetBody(NamedTuple):
    """The whole body, as text."""

    text: str


class SetValue(NamedTuple):
    """A value in JSON, in that of one event where the body is a stream of events."""

    pointer: Steps
    value: bytes
    """Its JSON."""
    event: int | None = None


class RemoveValue(NamedTuple):
    """A member or an item of JSON."""

    pointer: Steps
    event: int | None = None


class SetHeader(NamedTuple):
    """A header, instead of all of its name."""

    name: bytes
    value: bytes


class RemoveHeader(NamedTuple):
    """All headers of a name."""

    name: bytes


class SetStatus(NamedTuple):
    """The status of an answer."""

    status: int


class DropChunk(NamedTuple):
    """One recorded piece of an answer's body, from 0."""

    chunk: int


type Step = Replace | SetBody | SetValue | RemoveValue | SetHeader | RemoveHeader | SetStatus | DropChunk


@dataclass(frozen=True, slots=True)
class Patch:
    """What is to be changed, of which side, and why."""

    steps: tuple[Step, ...]
    on: Side | None = None
    """None: the side of the branch point."""
    note: str = ""
    raw: bytes = b""
    """The file in the one spelling of its JSON (RFC 8785)."""
