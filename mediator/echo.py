"""Keep real credentials out of answers: what a server gives back reaches the agent as the placeholder. No IO.

Always: headers, trailers and bodies are searched in every spelling (`mediator.scan`), also in what gzip,
deflate, brotli and zstd hide; what is found is turned into the placeholder, spelled the same. Where that
cannot be done the answer stops before the bytes that complete the value (`FoundError`), and one that cannot
be searched is not passed (`PackedError`). It stops so, too, where the value is none that is bound to the
server: turned back, it would tell an agent which of its guesses is right (ADR 0046).

A packed answer is packed anew, so it is other bytes than the server's. Where a header vouches for those (a
digest), they pass as they are, and the answer stops where a value stands in it. A part of an answer (206)
that is packed cannot be searched; requests ask for none (`mediator.judgement`).
"""

from collections.abc import Callable
from typing import Final

from mediator.archives import MAX_KEPT, Files, Within
from mediator.authority import Destination
from mediator.charsets import check_charset
from mediator.codings import PackedError, Repacking, Text, Unpacking, codings_of
from mediator.collected import Collected
from mediator.credentials import Broker
from mediator.held import Room
from mediator.minting import MintedText
from mediator.scan import FoundError, StreamSwap
from mediator.transcript import Headers

__all__ = ["AnswerBody", "PackedError", "answer_body", "answer_fields"]

_DIGESTS: Final = (b"content-md5", b"digest", b"content-digest", b"repr-digest", b"x-goog-hash")
_DIGEST_BEGINS: Final = (b"x-amz-checksum-",)


def answer_fields(broker: Broker, fields: Headers, source: Destination) -> Headers:
    """Return headers or trailers of `source` with placeholders for values. Raises FoundError."""
    if not broker.holds_any or not broker.echoes(fields):
        return fields
    turned = tuple((_named(broker, name), broker.turned_back(value, source)) for name, value in fields)
    found = broker.real_value_in(b"".join(value for _, value in turned))
    if found is not None:  # in parts, which the agent could put together
        raise FoundError(found)
    return turned


def _named(broker: Broker, name: bytes) -> bytes:
    found = broker.real_value_in(name)
    if found is not None:
        raise FoundError(found)
    return name


class AnswerBody:
    """One answer's body; `mediator.bodies.Stage` says how it is used, and what it raises is above."""

    def __init__(
        self,
        text: StreamSwap,
        way: Repacking | None,
        *,
        resizes: bool,
    ) -> None:
        self._text = text
        self._way = way
        self.resizes = resizes

    @property
    def waiting(self) -> bool:
        """Tell whether so little is held that it should pass after a moment."""
        return self._text.waiting

    def unpacks(self, _data: bytes) -> bool:
        """Tell whether more than what came may be looked at."""
        return self._way is not None

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass."""
        return (self._way or self._text).feed(data)

    def whole(self, data: bytes) -> bytes:
        """Take all of a body and return all that may pass."""
        if self._way is None:
            return self._text.whole(data)
        return (self._way.feed(data) if data else b"") + self._way.finish()

    def release(self) -> bytes:
        """Return what waited."""
        held = self._text.release()
        return self._way.push(held) if self._way else held

    def finish(self) -> bytes:
        """Return the rest."""
        return (self._way or self._text).finish()


class Watched:
    """One body that passes as it came, and stops where a value stands in it."""

    resizes = False
    waiting = False

    def __init__(self, broker: Broker, codings: tuple[bytes, ...], *, bound: bool = True) -> None:
        self._broker = broker
        self._bound = bound
        self._inside: list[StreamSwap] = []
        self._packed = Unpacking(codings, self._look)
        self._outside = broker.stopping(from_agent=False)
        self._kept = b""

    def unpacks(self, _data: bytes) -> bool:
        """Tell whether more than what came may be looked at."""
        return True

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass: nothing that a value begins in, until that is none."""
        self._packed.feed(data)
        self._kept += self._outside.at_once(data)
        if any(swap.holding for swap in self._inside):
            if len(self._kept) > MAX_KEPT:
                raise PackedError("it goes on for long after what may be the beginning of a secret")
            return b""
        return self._passed()

    def _look(self) -> Callable[[bytes], object]:
        swap = self._broker.stopping(from_agent=False, patient=self._bound)
        self._inside.append(swap)
        return Within(swap, Files(self._broker)).feed if self._bound else swap.feed

    def _passed(self) -> bytes:
        passed, self._kept = self._kept, b""
        return passed

    def release(self) -> bytes:
        """Return what waited: nothing does."""
        return b""

    def finish(self) -> bytes:
        """Return the rest."""
        rest = self._outside.finish()
        return self._passed() + rest


def answer_body(
    broker: Broker,
    headers: Headers,
    source: Destination,
    mints: Callable[[Text], MintedText] | None = None,
    *,
    bound: bool = True,
    room: Room | None = None,
    fixed: bool = False,
) -> AnswerBody | Watched | None:
    """Return what the body of one answer of `source` passes, None for nothing. Raises PackedError.

    The length of a `fixed` one does not change: it stops where it would.
    With `room`, which then holds it, the text of a packed one passes when it is whole.

    `mints` is for an answer in which tokens may be minted: what it is given turns them. A server to which no
    credential is `bound` knows none, and either side may wait for the other behind any word.
    """
    if broker.holds_any or mints is not None:
        check_charset(headers)
    if mints is not None:
        swap = broker.incoming(source, patient=bound)
        return _repacked(codings_of(headers), swap, mints(swap), room)  # JSON or a form, or nothing passes
    if not broker.holds_any:
        return None
    codings = codings_of(headers)
    if codings and any(_vouches(name.lower()) for name, _ in headers):
        return Watched(broker, codings, bound=bound)
    announced = any(name.lower() == b"content-length" for name, _ in headers)
    if not codings:
        resizes = announced and not broker.even and not fixed
        text = broker.incoming(source, same_length=announced and not resizes, patient=bound)
        return AnswerBody(text, None, resizes=resizes)
    text = broker.incoming(source, patient=bound)
    return _repacked(codings, text, Within(text, Files(broker)) if bound else text, room)


def _repacked(codings: tuple[bytes, ...], swap: StreamSwap, text: Text, room: Room | None) -> AnswerBody:
    collected = Collected(text, room) if codings and room is not None else text
    return AnswerBody(swap, Repacking(codings, collected), resizes=True)


def _vouches(name: bytes) -> bool:
    return name in _DIGESTS or name.startswith(_DIGEST_BEGINS)
