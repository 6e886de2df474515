"""Put real credentials into the bodies of requests, in the place of their placeholders. No IO.

Always: a placeholder leaves only as the value, spelled as the body's kind needs it, where its secret's `in`
has `body` and the host is bound; at any other the request stops before the bytes that complete it
(`FoundError`). Packed bodies are searched and, where a value may go in, packed anew. A body whose values are
as long as their placeholders in every spelling keeps its announced length.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from hark.policy.model import Surface
from mediator.authority import Destination
from mediator.codings import AWS_CHUNKED, Repacking, Unpacking, codings_of
from mediator.credentials import Broker, Injection
from mediator.scan import FoundError, StreamSwap
from mediator.spelling import Place
from mediator.transcript import Headers

_JSON: Final = (b"application/json", b"application/x-ndjson", b"application/jsonl", b"application/json-seq")
_XML: Final = (b"application/xml", b"text/xml")
_FIXED: Final = (
    "the placeholder of secrets.{} stands in the request's body, which has a checksum in it (aws-chunked), "
    "and is not replaced there; send it in a header, or the body without a checksum"
)
_FORM: Final = b"application/x-www-form-urlencoded"


def place_of(headers: Headers) -> Place:
    """Return what a body is, by its Content-Type."""
    kind = b""
    for name, value in headers:
        if name.lower() == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
            break
    if kind in _JSON or kind.endswith(b"+json"):
        return Place.JSON
    if kind in _XML or kind.endswith(b"+xml"):
        return Place.XML
    return Place.FORM if kind == _FORM else Place.PLAIN


class RequestText:
    """One request's body; `mediator.bodies.Stage` says how it is used. Raises FoundError and PackedError."""

    def __init__(self, broker: Broker, target: Destination, headers: Headers) -> None:
        codings = codings_of(headers, sent=True)
        fixed = AWS_CHUNKED in codings  # a checksum in it is of the text as it is
        free = () if fixed else broker.may_stand(target, Surface.BODY)
        announced = any(name.lower() == b"content-length" for name, _ in headers)
        even = not codings and all(held.even for held in free)
        self.resizes = bool(free) and not even
        self._broker = broker
        self._text = broker.outgoing(
            target, Surface.BODY, place_of(headers), same_length=announced and even and bool(free)
        )
        self._way: Repacking | _Searched | StreamSwap = self._text
        if codings:
            plain = partial(broker.outgoing, target, Surface.BODY)
            look = partial(broker.stopping, from_agent=True) if fixed else plain
            self._way = Repacking(codings, self._text) if free else _Searched(codings, look, fixed=fixed)
        self._told: set[str] = set()

    @property
    def waiting(self) -> bool:
        """Tell whether so little is held that it should pass after a moment."""
        return self._text.waiting and self._way is self._text

    def unpacks(self, _data: bytes) -> bool:
        """Tell whether more than what came may be looked at."""
        return self._way is not self._text

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass."""
        return self._way.feed(data)

    def whole(self, data: bytes) -> bytes:
        """Take all of a body and return all that may pass."""
        if self._way is self._text:
            return self._text.whole(data)
        return (self._way.feed(data) if data else b"") + self._way.finish()

    def release(self) -> bytes:
        """Return what waited."""
        return self._text.release()

    def finish(self) -> bytes:
        """Return the rest."""
        return self._way.finish()

    def injected(self) -> Iterable[Injection]:
        """Return each credential that went in since the last call, once for a body."""
        new = {name: pair for name, pair in self._text.used.items() if name not in self._told}
        self._told |= set(new)
        return self._broker.injections(new)


class MessageText:
    """One WebSocket message of the agent's; used like a request's body."""

    resizes = True
    waiting = False

    def __init__(self, broker: Broker, target: Destination) -> None:
        self._broker = broker
        self._target = target
        self._text: StreamSwap | None = None

    def unpacks(self, _data: bytes) -> bool:
        """Tell whether more than what came may be looked at."""
        return False

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass. Raises FoundError."""
        if self._text is None:
            place = Place.JSON if data.lstrip()[:1] in (b"{", b"[", b'"') else Place.PLAIN
            self._text = self._broker.outgoing(self._target, Surface.WS, place)
        return self._text.feed(data)

    def release(self) -> bytes:
        """Return nothing: a message is not waited for."""
        return b""

    def finish(self) -> bytes:
        """Return the rest. Raises FoundError."""
        return self._text.finish() if self._text is not None else b""

    def injected(self) -> Iterable[Injection]:
        """Return each credential that went in."""
        return self._broker.injections(self._text.used if self._text is not None else {})


class _Searched:
    """A packed body into which nothing may go: it passes as it came, once it was searched."""

    def __init__(self, codings: tuple[bytes, ...], look: Callable[[], StreamSwap], *, fixed: bool) -> None:
        """`fixed`: no placeholder may stand in it at all, beside its text neither."""
        self._inside = Unpacking(codings, lambda: look().feed)
        self._outside = look() if fixed else None

    def feed(self, data: bytes) -> bytes:
        if self._outside is None:
            self._inside.feed(data)
            return data
        try:
            self._inside.feed(data)
            self._outside.feed(data)
        except FoundError as found:
            raise FoundError(found.name, _FIXED.format(found.name)) from None
        return data

    def finish(self) -> bytes:
        return b""
