"""A patch made on a recorded answer or on a request: what the agent gets, or what a real server is sent.

What always holds: of an answer every part keeps its event and its time, and what is put in stands with the
part in which it begins; what is patched is well framed. Its content codings are undone where its text was
changed, and stay where it was not. Nothing is guessed: what matches nothing raises `PatchError`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hark.bundle.fields import Pairs
from hark.errors import PatchError
from hark.patch import fields
from hark.patch.changing import Changing
from hark.patch.steps import DropChunk, Patch, RemoveHeader, SetHeader, SetStatus
from hark.replay.pieces import Data, End, Failed, Head, Message, Part, Refused, Tail

_BODILESS: Final = frozenset((204, 304))
_NOT_OF_A_MESSAGE: Final[Mapping[type, str]] = {
    SetHeader: "headers", RemoveHeader: "headers", SetStatus: "status", DropChunk: "chunks",
}  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """A request as it is sent."""

    method: str
    host: str
    path: str
    headers: Pairs
    body: bytes


@dataclass(frozen=True)
class Answer:
    """A patched answer, and what else had to be changed for it, in words."""

    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A patched request, and what else had to be changed for it, in words."""

    sent: Sent
    notes: tuple[str, ...] = ()


def patched_parts(patch: Patch, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts of a patched answer. Raises PatchError."""
    return patched_answer(patch, parts).parts


def patched_request(patch: Patch, sent: Sent) -> Sent:
    """Return a patched request. Raises PatchError."""
    return asked(patch, sent).sent


def patched_answer(patch: Patch, parts: Sequence[Part]) -> Answer:
    """Return a patched answer. Raises PatchError."""
    head = _head(parts)
    data = [part.piece.data for part in parts if isinstance(part.piece, Data)]
    whole = any(isinstance(part.piece, End) for part in parts)
    changing = Changing(head.headers, data, whole, head.status)
    changing.run(patch)
    if changing.status in _BODILESS and changing.body:
        raise PatchError(
            f'a {changing.status} has no body, and the answer has one; add {{"body": ""}} to the steps'
        )
    return Answer(tuple(_framed(parts, changing)), tuple(changing.notes))


def asked(patch: Patch, sent: Sent) -> Asked:
    """Return a patched request. Raises PatchError."""
    changing = Changing(sent.headers, [sent.body] if sent.body else [])
    changing.run(patch)
    headers = changing.headers
    if changing.changed and not fields.values(headers, b"transfer-encoding"):
        headers = fields.with_header(headers, b"Content-Length", str(len(changing.body)).encode())
    return Asked(Sent(sent.method, sent.host, sent.path, headers, changing.body), tuple(changing.notes))


def patched_message(patch: Patch, data: bytes) -> bytes:
    """Return a patched message of a conversation: of a WebSocket, of a tool server, of raw TCP.

    Raises PatchError.
    """
    for number, step in enumerate(patch.steps, 1):
        what = _NOT_OF_A_MESSAGE.get(type(step))
        if what is not None:
            raise PatchError(f"a message has no {what}", step=number)
    changing = Changing((), [data])
    changing.run(patch)
    return changing.body


def _head(parts: Sequence[Part]) -> Head:
    for part in parts:
        match part.piece:
            case Head() if part.piece.status:
                return part.piece
            case Refused(reason):
                raise PatchError(f"there is no recorded answer to be patched: hark refused it ({reason})")
            case Message():
                raise PatchError("a WebSocket has no answer to be patched")
            case _:
                pass
    reason = next((f" ({part.piece.reason})" for part in parts if isinstance(part.piece, Failed)), "")
    raise PatchError(f"there is no recorded answer to be patched{reason}")


def _framed(parts: Sequence[Part], changing: Changing) -> "list[Part]":
    """Return the parts with what has become of their pieces; a chunk without text is none."""
    made: list[Part] = []
    chunks = list(changing.chunks) if changing.changed else None
    numbers = iter(range(len(parts)))
    bodiless = not any(isinstance(part.piece, Data) for part in parts)
    for part in parts:
        match part.piece:
            case Head() if part.piece.status:
                ends = part.piece.ends and not (chunks and any(chunks))
                head = Head(changing.status or part.piece.status, changing.headers, ends)
                made.append(part._replace(piece=head))
                if chunks and bodiless:
                    made += [part._replace(piece=Data(chunk)) for chunk in chunks if chunk]
            case Data(data):
                text = data if chunks is None else chunks[next(numbers)]
                if text or chunks is None:
                    made.append(part._replace(piece=Data(text)))
            case Tail(headers) if changing.changed:
                made += _true_tail(part, headers)
            case _:
                made.append(part)
    return made


def _true_tail(part: Part, headers: Pairs) -> list[Part]:
    kept = tuple(field for field in headers if not fields.is_hash(field[0].lower()))
    return [part._replace(piece=Tail(kept))] if kept else []
