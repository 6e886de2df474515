"""What differs inside two actions that stand for one another: all of it, by name, path, line or byte.

What always holds: an action that differs has at least one change, and every word of it is safe to print.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from hark.diff.align import Row
from hark.diff.files import Files
from hark.diff.order import Effort
from hark.diff.side import Side
from hark.diff.texts import Change, of_bodies
from hark.replay.content import Content
from hark.replay.difference import Fields, of_fields, of_requests
from hark.replay.diverge import Divergence
from hark.replay.packed import plain
from hark.visible import visible

MAX_CHANGES: Final = 100  # of one action; a person has seen enough, and so has a program
MOVED: Final = "differs: the same, at another place among its like"
_BYTES: Final = ("body", "data", "bytes", "arguments", "result")


def changes(row: Row, one: Side, other: Side, files: Files | None = None) -> list[Change]:
    """Return what differs in a row with both sides, or of a file; the last says where there is more."""
    if files is not None and (found := files.changes(row)):
        return found
    if row.was is None or row.now is None:
        return []
    parts = Divergence(row.was, row.now).parts
    asked = row.was.stream != row.now.stream  # in one stream all requests are the same
    was, now = one.content(row.was, asked=asked), other.content(row.now, asked=asked)
    found = list(islice(_found(parts, was, now, one.effort), MAX_CHANGES + 1))
    if len(found) > MAX_CHANGES:
        found[-1] = Change("and more", "differs")
    return found or [Change(part, "differs") for part in parts] or [Change("order", MOVED)]


def _found(parts: Sequence[str], was: Content, now: Content, effort: Effort) -> Iterator[Change]:
    yield from _of_requests(was, now, effort)
    if was.status != now.status:
        yield Change("status", f"was {was.status} and is {now.status}")
    if was.words != now.words and not set(parts) <= {*_BYTES, "headers", "status", "request"}:
        yield Change("outcome", f"was {visible(was.words) or 'whole'} and is {visible(now.words) or 'whole'}")
    for what, name in (("answer's header", "headers"), ("trailer", "trailers")):
        yield from _named(what, getattr(was, name), getattr(now, name))
    yield from _named("request's trailer", was.request_trailers, now.request_trailers)
    where = next((part for part in _BYTES if part in parts), "body")
    bodies = _text(was, effort), _text(now, effort)
    yield from of_bodies("answer" if where == "body" else where, *bodies, effort)


def _of_requests(was: Content, now: Content, effort: Effort) -> Iterator[Change]:
    if was.request is None or now.request is None:
        return
    body = ("body", "field", "part", "$")
    for difference in of_requests(was.request, now.request):
        if not difference.where.startswith(body):
            yield Change(f"request's {difference.where}", difference.words)
    if was.request.digest != now.request.digest or was.request.form != now.request.form:
        told = list(islice(of_bodies("request", was.request.body, now.request.body, effort), MAX_CHANGES))
        yield from told or [
            Change("request's body", f"differs: {was.request.size} and {now.request.size} bytes")
        ]


def _named(what: str, was: Fields, now: Fields) -> Iterator[Change]:
    for difference in of_fields(what, was, now):
        yield Change(difference.where, difference.words)


def _text(found: Content, effort: Effort) -> bytes:
    """Return a body with its content codings undone, where that can be and there is effort left for it."""
    data = bytes(found.data)
    if found.cut or effort.spent:
        return data
    text = plain(found.headers, data)
    effort.left -= len(text)
    return text
