"""The way of one body through the mediator, in either direction: what looks at it and changes it. No IO.

Always: the record holds what the agent wrote and what the agent got. So of a request `checked` comes before
the record and `sent` behind it; of an answer everything comes before. A stage is told every byte in order and
returns what may pass on now; what it holds back it returns later, at the latest from `finish`. It may return
more or less than it was told, and then says so in `resizes`: the message is then framed anew.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from mediator import strays
from mediator.archives import Files
from mediator.codings import PackedError, Text, codings_of
from mediator.credentials import Injection
from mediator.echo import AnswerBody, Watched, answer_body, answer_fields
from mediator.endpoints import Minting, minting_at
from mediator.entire import Entire
from mediator.link import Link
from mediator.made import Made
from mediator.minting import Mint, MintedText
from mediator.parts import Cut, Part, head_of
from mediator.scan import FoundError
from mediator.sightings import cookies_in, sighting_in
from mediator.sliced import is_slow, slices
from mediator.stored import may_be_packed, unmeasured, was_named, was_there
from mediator.substitution import MessageText, RequestText, place_of
from mediator.transcript import Headers


class StoppedError(Exception):
    """The body must not pass any further. `reason` is a sentence's end, and quotes nothing of the body."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Stage(Protocol):
    """One thing that looks at a body or changes it."""

    @property
    def resizes(self) -> bool:
        """Tell whether other than as many bytes may come out as went in. MUST NOT change."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass on now. MUST raise StoppedError before wrong bytes pass."""
        ...

    @property
    def waiting(self) -> bool:
        """Tell whether so little is held back that it is likely chance, and should pass after a moment."""
        ...

    def release(self) -> bytes:
        """Return what waits. MUST raise StoppedError later for what only then turns out to be wrong."""
        ...

    def finish(self) -> bytes:
        """Return the rest: the body is whole. MUST be called once. MUST raise as `feed` does."""
        ...


class Chain:
    """Stages, one behind the other, as one."""

    def __init__(self, stages: Sequence[Stage] = (), *, late: bool = False) -> None:
        self._stages = tuple(stages)
        self.late = late
        """Whether what stands before the body must wait until something of it may pass."""

    @property
    def resizes(self) -> bool:
        """Tell whether any of them does."""
        return any(stage.resizes for stage in self._stages)

    def feed(self, data: bytes) -> bytes:
        """Pass a piece through all of them. Raises StoppedError."""
        for stage in self._stages:
            if not data:
                break
            data = stage.feed(data)
        return data

    def whole(self, data: bytes) -> bytes:
        """Pass a whole body through all of them, instead of `feed` and `finish`. Raises StoppedError."""
        for stage in self._stages:
            if isinstance(stage, _Told):
                data = stage.whole(data)
            else:
                data = (stage.feed(data) if data else b"") + stage.finish()
        return data

    def is_slow(self, data: bytes = b"") -> bool:
        """Tell whether `data`, or without it what is still held, should be looked at in slices."""
        told = [stage for stage in self._stages if isinstance(stage, _Told)]
        return bool(told) and (is_slow(data) or any(stage.unpacks(data) for stage in told))

    @property
    def waiting(self) -> bool:
        """Tell whether one of them holds so little that it should pass after a moment."""
        return any(stage.waiting for stage in self._stages)

    def release(self) -> bytes:
        """Return what waited, passed through those behind. Raises StoppedError."""
        rest = b""
        for stage in self._stages:
            rest = (stage.feed(rest) if rest else b"") + (stage.release() if stage.waiting else b"")
        return rest

    def finish(self) -> bytes:
        """Return what they still held, passed through those behind. Raises StoppedError."""
        rest = b""
        for stage in self._stages:
            rest = (stage.feed(rest) if rest else b"") + stage.finish()
        return rest


@dataclass(frozen=True, slots=True)
class RequestBody:
    """What a request's body passes: checked, then recorded, then turned into what is sent."""

    checked: Chain
    sent: Chain
    injected: Callable[[], Iterable[Injection]] = tuple
    """Returns each credential that went into the body since the last call."""


def of_request(link: Link, headers: Headers) -> RequestBody:
    """Return the way of one request's body; `headers` are the agent's, and say what the body is."""
    if not link.broker.holds_any:
        return RequestBody(Chain(), Chain())
    text = RequestText(link.broker, link.receiver, headers)
    return RequestBody(Chain(), Chain((_Told(text, link),)), text.injected)


def of_answer(
    link: Link,
    headers: Headers,
    *,
    body: bool,
    asked: tuple[bytes, ...] = (),
    played: bool = False,
    part: Part | None = None,
) -> tuple[Headers, Chain]:
    """Return the head of an answer as the agent gets it, and its body's way. Raises StoppedError.

    `played`: it comes from a recording. `asked` are the paths that the request may stand for: they
    say whether tokens may be minted in the answer. Of a whole the agent may get a `part` alone.
    """
    minting = minting_at(link.policy, link.target, *asked)
    if played:
        return headers, _played(link, headers, minting, body=body)
    with _Stopping(link):
        if minting is not None:
            _mint(link).keep_in_head(headers, link.target, minting)
        headers = answer_fields(link.broker, headers, link.target)
        mints = None if minting is None else partial(_minted, link, headers, minting)
        way = _searched(link, headers, mints, fixed=part is not None) if body else None
        bound = link.broker.binds(link.target)
        stored = bound and (was_there(headers, link.age_s) or was_named(headers, asked))
        if not body and (mints or bound):
            headers = unmeasured(headers, stored=stored)
    for cookie in cookies_in(headers):
        link.ledger.token_seen(link.target, "cookie", cookie)
    stages: list[Stage] = [_Told(way, link, answer=True)] if way else []
    late = False
    if bound and isinstance(way, AnswerBody):
        late = not stored and may_be_packed(headers)
        astray = link.broker.astray_at(link.target)
        files = Files(link.broker) if stored else Made(link.broker, link.files, astray, late=late)
        stages.append(_Told(files, link, answer=True))
    if body and (sighting := sighting_in(headers, partial(link.ledger.token_seen, link.target))):
        stages.append(sighting)
    if part is not None:
        return head_of(part, headers), Chain((*stages, Cut(part)), late=late)
    return headers, Chain(stages, late=late)


def _searched(
    link: Link, headers: Headers, mints: Callable[[Text], MintedText] | None, *, fixed: bool = False
) -> AnswerBody | Watched | Entire | None:
    """Return the way of a body through the search for credentials. Raises PackedError.

    `fixed`: its length MUST NOT change.
    """
    bound = link.broker.binds(link.target)
    room = link.room if bound or mints else None
    way = answer_body(link.broker, headers, link.target, mints, bound=bound, room=room, fixed=fixed)
    return Entire(way, room) if way is not None and room is not None and codings_of(headers) else way


def _played(link: Link, headers: Headers, minting: Minting | None, *, body: bool) -> Chain:
    """Return the way of an answer that is played: what was to be turned in it was, before it was recorded.

    It is framed anew where it was then: where credentials were looked for that may have changed its length.
    """
    for cookie in cookies_in(headers):
        link.ledger.token_seen(link.target, "cookie", cookie)
    if not body:
        return Chain()
    try:
        way = _searched(link, headers, None)
    except PackedError:
        way = None
    again = _Passing(resizes=minting is not None or (way is not None and way.resizes))
    sighting = sighting_in(headers, partial(link.ledger.token_seen, link.target))
    return Chain((again, sighting) if sighting else (again,))


class _Passing:
    """A stage that passes everything."""

    waiting = False

    def __init__(self, *, resizes: bool) -> None:
        self.resizes = resizes

    def feed(self, data: bytes) -> bytes:
        return data

    def release(self) -> bytes:
        return b""

    def finish(self) -> bytes:
        return b""


def _minted(link: Link, headers: Headers, minting: Minting, text: Text) -> MintedText:
    return MintedText(_mint(link), text, link.target, minting, place_of(headers))


def _mint(link: Link) -> Mint:
    plain = not (link.tls or link.near)
    return Mint(link.broker, lambda field: link.ledger.token_seen(link.target, "minted", field), plain=plain)


def turned_trailers(link: Link, fields: Headers, *, played: bool = False) -> Headers:
    """Return the trailers of an answer as the agent gets them. Raises StoppedError."""
    if not fields or played:
        return fields
    with _Stopping(link):
        return answer_fields(link.broker, fields, link.target)


class Across:
    """Looks at a server's messages together: an agent could join what a server divided among several."""

    resizes = False
    waiting = False

    def __init__(self, link: Link) -> None:
        self._link = link
        self._broker = link.broker
        self._seen = b""

    def feed(self, data: bytes) -> bytes:
        """Take a piece of a message and return it. Raises StoppedError."""
        for part in slices(data):
            together = self._seen + part
            found = self._broker.real_value_in(together)
            if found is not None:
                raise StoppedError(echoed(found, self._link))
            self._seen = together[-self._broker.longest :] if self._broker.longest else b""
        return data

    def release(self) -> bytes:
        """Return nothing: all has passed."""
        return b""

    def finish(self) -> bytes:
        """Return nothing: all has passed."""
        return b""


def of_agents_message(link: Link) -> RequestBody:
    """Return the way of one WebSocket message of the agent's, a control frame included."""
    if not link.broker.holds_any:
        return RequestBody(Chain(), Chain())
    text = MessageText(link.broker, link.receiver)
    return RequestBody(Chain(), Chain((_Told(text, link),)), text.injected)


def of_servers_message(link: Link, across: Across) -> RequestBody:
    """Return the way of one WebSocket message of the server's."""
    way = answer_body(link.broker, (), link.target)
    turned = (_Told(way, link, answer=True),) if way else ()
    return RequestBody(checked=Chain((*turned, across)), sent=Chain())


def echoed(name: str, link: Link) -> str:
    """Say that an answer gives a credential back, or that its value has no business there."""
    if name in link.broker.astray_at(link.target):
        return strays.reason(name)
    return (
        f"its answer gives secrets.{name} back where hark cannot turn it into the placeholder, and the "
        "agent must not see it"
    )


class _Stopping:
    """Says in words why a body stops. A class, since each message enters it five times."""

    __slots__ = ("_answer", "_link")

    def __init__(self, link: Link, *, answer: bool = True) -> None:
        self._link = link
        self._answer = answer

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise StoppedError in the place of what the search raises."""
        match error:
            case None:
                return
            case FoundError():
                link = self._link
                raise StoppedError(
                    echoed(error.name, link) if self._answer else link.broker.refusal(error).reason
                ) from None
            case PackedError():
                raise StoppedError(str(error)) from None
            case _:
                return


class _Told:
    """A stage that says why it stops."""

    def __init__(
        self,
        way: RequestText | MessageText | AnswerBody | Watched | Entire | Files | Made,
        link: Link,
        *,
        answer: bool = False,
    ) -> None:
        self._way = way
        self.resizes = way.resizes
        self._stopping = _Stopping(link, answer=answer)

    @property
    def waiting(self) -> bool:
        return self._way.waiting

    def unpacks(self, data: bytes) -> bool:
        """Tell whether more than `data` may be looked at."""
        return self._way.unpacks(data)

    def feed(self, data: bytes) -> bytes:
        with self._stopping:
            return self._way.feed(data)

    def whole(self, data: bytes) -> bytes:
        """Take all of a body and return all that may pass."""
        with self._stopping:
            if isinstance(self._way, RequestText | AnswerBody):
                return self._way.whole(data)
            return (self._way.feed(data) if data else b"") + self._way.finish()

    def release(self) -> bytes:
        return self._way.release()

    def finish(self) -> bytes:
        with self._stopping:
            return self._way.finish()
