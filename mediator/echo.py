"""Keep real credentials out of answers: plain, in wrapped base64, and in what gzip or deflate hides. No IO.

Always: an answer that gives a credential back is cut before the bytes that complete it pass, and one that
cannot be searched is not passed (`PackedError`). The unpacked form is only looked at; the agent gets the
bytes that the server sent.
"""

from mediator.codings import PackedError, Unpacking, codings_of
from mediator.credentials import Broker
from mediator.scan import FoundError
from mediator.squeeze import Squeeze
from mediator.transcript import Headers

__all__ = ["EchoScan", "PackedError"]


class _Look:
    """Bytes of one depth, as they are and without what wraps them."""

    def __init__(self, broker: Broker) -> None:
        self._plain = broker.incoming()
        self._wrapped = broker.incoming_wrapped()
        self._squeeze = Squeeze()

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return what may pass. Raises FoundError."""
        self._wrapped.feed(self._squeeze.feed(data))
        return self._plain.feed(data)

    def finish(self) -> bytes:
        """Return what was held back."""
        return self._plain.finish()


class EchoScan:
    """One answer's scan."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._outside = _Look(broker)
        self._inside: Unpacking | None = None

    def head(self, headers: Headers, *, body: bool) -> None:
        """Look at the headers of an answer, with or without a body. Raises FoundError and PackedError."""
        self.fields(headers)
        if not body or not self._broker.holds_any:
            return
        codings = codings_of(headers)
        if codings:
            self._inside = Unpacking(codings, lambda: _Look(self._broker).feed)

    def fields(self, headers: Headers) -> None:
        """Look at headers or trailers, each and all together. Raises FoundError."""
        whole = [name + b": " + value for name, value in headers]
        together = b"".join(value for _, value in headers)
        for text in (*whole, together):
            found = self._broker.real_value_in(text)
            if found is not None:
                raise FoundError(found)

    def body(self, data: bytes) -> bytes:
        """Take a piece and return what may pass. Raises FoundError and PackedError."""
        if self._inside is not None:
            self._inside.feed(data)
        return self._outside.feed(data)

    def finish(self) -> bytes:
        """Return what was held back."""
        return self._outside.finish()
