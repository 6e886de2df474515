"""The way of one body through the mediator, in either direction: what looks at it and changes it. No IO.

Always: the record holds what the agent wrote and what the agent got. So of a request `checked` comes before
the record and `sent` behind it; of an answer everything comes before. A stage is told every byte in order and
returns what may pass on now; what it holds back it returns later, at the latest from `finish`. It may return
more or less than it was told, and then says so in `resizes`: the message is then framed anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mediator.codings import PackedError
from mediator.echo import EchoScan
from mediator.link import Link
from mediator.scan import FoundError
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

    def finish(self) -> bytes:
        """Return the rest: the body is whole. MUST be called once. MUST raise as `feed` does."""
        ...


class Chain:
    """Stages, one behind the other, as one."""

    def __init__(self, stages: Sequence[Stage] = ()) -> None:
        self._stages = tuple(stages)

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


def of_request(link: Link, headers: Headers) -> RequestBody:
    """Return the way of one request's body; `headers` are the agent's, and say what the body is."""
    del headers  # a placeholder stops it whatever it is
    broker = link.broker
    stage = _NoPlaceholder(link, lambda found: broker.body_refusal(found).reason)
    return RequestBody(checked=Chain((stage,)), sent=Chain())


def of_answer(link: Link, headers: Headers, *, body: bool) -> Chain:
    """Return the way of one answer's body; its headers are looked at here. Raises StoppedError."""
    echo = EchoScan(link.broker)
    try:
        echo.head(headers, body=body)
    except FoundError as found:
        raise StoppedError(echoed(found)) from None
    except PackedError as error:
        raise StoppedError(str(error)) from None
    return Chain((_NoEcho(echo),))


def check_trailers(link: Link, fields: Headers) -> None:
    """Look at the trailers of an answer. Raises StoppedError."""
    try:
        EchoScan(link.broker).fields(fields)
    except FoundError as found:
        raise StoppedError(echoed(found)) from None


class Across:
    """Looks at a server's messages together: an agent could join what a server divided among several."""

    resizes = False

    def __init__(self, link: Link) -> None:
        self._broker = link.broker
        self._seen = b""

    def feed(self, data: bytes) -> bytes:
        """Take a piece of a message and return it. Raises StoppedError."""
        together = self._seen + data
        found = self._broker.real_value_in(together)
        if found is not None:
            raise StoppedError(echoed(FoundError(found)))
        self._seen = together[-self._broker.longest_value :] if self._broker.longest_value else b""
        return data

    def finish(self) -> bytes:
        """Return nothing: all has passed."""
        return b""


def of_agents_message(link: Link) -> RequestBody:
    """Return the way of one WebSocket message of the agent's, a control frame included."""
    return RequestBody(checked=Chain((_NoPlaceholder(link, _message_refusal),)), sent=Chain())


def of_servers_message(link: Link, across: Across) -> RequestBody:
    """Return the way of one WebSocket message of the server's."""
    return RequestBody(checked=Chain((_NoEcho(EchoScan(link.broker)), across)), sent=Chain())


def echoed(found: FoundError) -> str:
    """Say that an answer gives a credential back."""
    return f"its answer gives secrets.{found.name} back, which the agent must not see"


class _NoPlaceholder:
    """Stops a request, or an agent's message, at a placeholder."""

    resizes = False

    def __init__(self, link: Link, refusal: Callable[[FoundError], str]) -> None:
        self._refusal = refusal
        self._scan = link.broker.outgoing()

    def feed(self, data: bytes) -> bytes:
        try:
            return self._scan.feed(data)
        except FoundError as found:
            raise StoppedError(self._refusal(found)) from None

    def finish(self) -> bytes:
        return self._scan.finish()


def _message_refusal(found: FoundError) -> str:
    return (
        f"the placeholder of secrets.{found.name} stands in a WebSocket message, where it is not "
        "substituted; send it in a header of the handshake"
    )


class _NoEcho:
    """Stops an answer at a real value."""

    resizes = False

    def __init__(self, echo: EchoScan) -> None:
        self._echo = echo

    def feed(self, data: bytes) -> bytes:
        try:
            return self._echo.body(data)
        except FoundError as found:
            raise StoppedError(echoed(found)) from None
        except PackedError as error:
            raise StoppedError(str(error)) from None

    def finish(self) -> bytes:
        return self._echo.finish()
