"""HTTP on the wire, where mitmproxy's own reading of it is not enough for us.

Beyond its classes: trailers pass in both directions, interim answers (103) pass instead of being taken for
the answer, a head has a ceiling, a request that cannot be read is recorded before it is answered, and without
TLS an agent that has said all may still listen.

Not done here: HTTP/2, which is `mediator.wire_h2`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import h11
from h11._readers import ContentLengthReader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy import http
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestTrailers,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._http1 import (
    Http1Client,
    Http1Connection,
    Http1Server,
    make_body_reader,
)

from mediator import heads, unchecked  # noqa: F401  # its import is what it does
from mediator.fields import values_of
from mediator.pages import raw_response
from mediator.settled import SettledHook

MAX_HEAD: Final = 256 << 10  # four times what common servers take; a head is buffered whole
MAX_INTERIM: Final = 100  # before one answer: progress of a long request, once in some seconds
_HEAD_END: Final = (b"\r\n\r\n", b"\n\n")


@dataclass
class InterimHeaders(HttpEvent):
    """A head with a status of 1xx: the answer is still to come. Its words and fields are fit to be passed."""

    response: http.Response


class _TrailingConnection(Http1Connection):
    """Reads and writes trailers. Mixed in before either side's class."""

    _Trailers: type[RequestTrailers | ResponseTrailers]
    _pending: http.Headers | None = None
    _chunked = False
    """Whether what is sent, once its head is, comes in chunks."""

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        if isinstance(event, HttpEvent):
            return self.send(event)
        if type(event) is events.DataReceived and self.state != self.passthrough:
            if self.state == self.read_body and self._is_amid(len(event.data)):
                return self._read_on(event.data)
            self.buf += event.data
        return self.state(event)

    def _is_amid(self, size: int) -> bool:
        """Tell whether the next bytes are some of a body of known length, with more of it to come."""
        reader = self.body_reader
        return type(reader) is ContentLengthReader and size < reader._remaining and not self.buf  # noqa: SLF001

    def _read_on(self, data: bytes) -> CommandGenerator[None]:
        """Pass some of a body on as it came: through the buffer it would be copied five times."""
        if self.stream_id is None or type(self.body_reader) is not ContentLengthReader:
            raise RuntimeError("a body without a message")
        self.body_reader._remaining -= len(data)  # noqa: SLF001
        yield ReceiveHttp(self.ReceiveData(self.stream_id, data))

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        """Pass body and trailers on as they are read: what came at once as one piece, however it is chunked.

        Each piece is recorded and passed by itself, and thousands of chunks fit into one read.
        """
        stream_id = self.stream_id
        if stream_id is None:
            raise RuntimeError("a body without a message")
        read = bytearray()
        while True:
            try:
                part = self._next_part(event)
            except h11.ProtocolError as error:
                if read:
                    yield ReceiveHttp(self.ReceiveData(stream_id, bytes(read)))
                yield commands.CloseConnection(self.conn)
                yield ReceiveHttp(
                    self.ReceiveProtocolError(stream_id, f"{error}", self.ReceiveProtocolError.code)
                )
                return
            if isinstance(part, h11.Data):
                read += part.data
                continue
            if read:
                yield ReceiveHttp(self.ReceiveData(stream_id, bytes(read)))
            if part is None:
                return
            if part.headers:
                raw = tuple((bytes(name), bytes(value)) for name, value in part.headers.raw_items())
                yield ReceiveHttp(self._Trailers(stream_id, http.Headers(raw)))
            yield from self._message_ends(stream_id)
            return

    def _message_ends(self, stream_id: int) -> CommandGenerator[None]:
        """Be ready for the next message before the end of this one is told: who hears it may send at once."""
        yield from self.mark_done(response=True)
        yield ReceiveHttp(self.ReceiveEndOfMessage(stream_id))

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        """Write a part of a message; the end of a body with the trailers that came before it."""
        kind = type(event)
        ends = kind is RequestEndOfMessage or kind is ResponseEndOfMessage
        if ends and self.state == self.passthrough:  # of what is no HTTP any more
            yield commands.CloseTcpConnection(self.conn, half_close=True)
            return
        if kind is RequestData or kind is ResponseData:
            data: bytes = event.data  # type: ignore[attr-defined]
            if event.stream_id != self.stream_id:
                raise RuntimeError("a body of another message")
            if data:
                yield commands.SendData(
                    self.conn, b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data
                )
            return
        if ends and self._sent_all(event):  # type: ignore[arg-type]
            trailers, self._pending = self._pending, None
            if self._chunked:
                lines = b"".join(b"%s: %s\r\n" % field for field in trailers.fields) if trailers else b""
                yield commands.SendData(self.conn, b"0\r\n" + lines + b"\r\n")
            from_agent = kind is RequestEndOfMessage
            yield from self.mark_done(request=from_agent, response=not from_agent)
            return
        if isinstance(event, (RequestTrailers, ResponseTrailers)):
            self._pending = event.trailers
            return
        if isinstance(event, (RequestHeaders, ResponseHeaders)):
            message = event.request if isinstance(event, RequestHeaders) else event.response
            self._pending = None
            encodings = values_of(message.data.headers.fields, b"transfer-encoding")
            self._chunked = bool(encodings) and any(b"chunked" in one.lower() for one in encodings)
            head = self._head_of(event)
            if head is not None:
                yield commands.SendData(self.conn, head)
                return
        yield from super().send(event)

    def make_pipe(self) -> CommandGenerator[None]:
        """Read and write no more HTTP. What came already belongs to what follows, line breaks included."""
        self.state = self.passthrough
        self._chunked = False  # that was the message before it
        waiting = self.buf.maybe_extract_at_most(len(self.buf)) if self.buf else None
        if waiting:
            yield from self.state(events.DataReceived(self.conn, bytes(waiting)))

    def _head_of(self, event: RequestHeaders | ResponseHeaders) -> bytes | None:
        """Begin a message and return its head; None where mitmproxy has more to do for it."""
        raise NotImplementedError

    def _sent_all(self, event: RequestEndOfMessage | ResponseEndOfMessage) -> bool:
        """Tell whether the end of a message is in its framing; else mitmproxy knows how to say it.

        A request may end in the connection's half where its answer has begun; a HEAD has no body to end.
        """
        if isinstance(event, RequestEndOfMessage):
            return self._chunked or self.response is None
        return self.request is not None and self.request.data.method.upper() != b"HEAD"

    def mark_done(self, *, request: bool = False, response: bool = False) -> CommandGenerator[None]:
        """Note that one half of the exchange is done, and go on with the next where nothing is special."""
        both = (request or self.request_done) and (response or self.response_done)
        if not both or not _goes_on(self.request, self.response):
            yield from super().mark_done(request=request, response=response)
            return
        self.request_done = self.response_done = False
        self.request = self.response = None
        if isinstance(self, Http1Server):
            self.stream_id += 2
        else:
            self.stream_id = None
        self.state = self.read_headers
        if self.buf:
            yield from self.state(events.DataReceived(self.conn, b""))

    def _next_part(self, event: events.Event) -> Any:
        if isinstance(event, events.ConnectionClosed):
            return self.body_reader.read_eof()
        return self.body_reader(self.buf)


class AgentHttp1(_TrailingConnection, Http1Server):
    """The agent's side. `malformed` is told why a request could not be read, before it is answered.

    Requests that were sent ahead of an answer wait in `buf` for its end. They are read in a loop: mitmproxy
    would read each within the one before it, and thousands fit into one segment.
    """

    _Trailers = RequestTrailers

    def __init__(self, context: Context, malformed: Callable[[str], None]) -> None:
        super().__init__(context)
        self._malformed = malformed
        self._next_waits = False
        self._said_all = False

    @property
    def ahead(self) -> int:
        """Return how many bytes wait for the end of the exchange that is under way."""
        return len(self.buf) if self.request_done else 0

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        yield from super()._handle_event(event)
        while self._next_waits:
            self._next_waits = False
            yield from self.state(events.DataReceived(self.conn, b""))

    def mark_done(self, *, request: bool = False, response: bool = False) -> CommandGenerator[None]:
        """Note that one half of the exchange is done; what was sent ahead is read once both are."""
        both = (request or self.request_done) and (response or self.response_done)
        ahead, self.buf = self.buf, ReceiveBuffer()
        yield from super().mark_done(request=request, response=response)
        self.buf = ahead
        if both and self.state == self.passthrough:
            yield from self.make_pipe()
        elif both and self._said_all and not self.buf and self.state == self.read_headers:
            yield commands.CloseConnection(self.conn)
            self.state = self.done
        elif both:
            self._next_waits = bool(self.buf) and self.state == self.read_headers

    def _head_of(self, event: RequestHeaders | ResponseHeaders) -> bytes | None:
        if not isinstance(event, ResponseHeaders) or event.stream_id != self.stream_id:
            raise RuntimeError("the head of another answer")
        if event.response.data.http_version != b"HTTP/1.1":
            return None
        self.response = event.response
        return heads.response_head(event.response)

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        """Write a part of an answer."""
        return self._send_interim(event) if isinstance(event, InterimHeaders) else super().send(event)

    def _send_interim(self, event: InterimHeaders) -> CommandGenerator[None]:
        """Write an interim answer. HTTP/1.0 knows nothing of such."""
        if self.request is not None and self.request.http_version != "HTTP/1.0":
            event.response.http_version = "HTTP/1.1"
            yield commands.SendData(self.conn, heads.response_head(event.response))

    def wait(self, event: events.Event) -> CommandGenerator[None]:
        """Wait for the answer. Without TLS the end of what an agent says is not yet the end of its interest:
        `nc` ends that way. With TLS it is; who cancels a long answer ends that way."""
        ended = isinstance(event, events.ConnectionClosed) and not self.conn.tls
        if ended and self.conn.state is ConnectionState.CAN_WRITE:
            self._said_all = True
            return
        yield from super().wait(event)

    def _message_ends(self, stream_id: int) -> CommandGenerator[None]:
        """Tell the end first: until then the answer, which may be there already, is not done."""
        yield ReceiveHttp(self.ReceiveEndOfMessage(stream_id))
        yield from self.mark_done(request=True)

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        """Read a request's head."""
        if not isinstance(event, events.DataReceived):
            yield from super().read_headers(event)
            return
        lines = self.buf.maybe_extract_lines()
        while lines == []:  # empty lines before a request are skipped (RFC 9112, 2.2)
            lines = self.buf.maybe_extract_lines()
        if lines is None:
            if len(self.buf) > MAX_HEAD:
                yield from self._refuse("431 Request Header Fields Too Large", "its head is too long")
            return
        try:
            self.request = heads.read_request([bytes(line) for line in lines])
            size = heads.announced(self.request)
            http1_only(self.request)
        except ValueError as error:
            yield from self._refuse("400 Bad Request", _first_words(error))
            return
        self.body_reader = make_body_reader(size)
        yield ReceiveHttp(RequestHeaders(self.stream_id, self.request, size == 0))
        self.state = self.read_body
        yield from self.state(event)

    def _refuse(self, status: str, why: str) -> CommandGenerator[None]:
        self._malformed(why)
        yield SettledHook()
        yield commands.SendData(self.conn, raw_response(status, f"hark: not sent: {why}.\n".encode()))
        yield commands.CloseConnection(self.conn)
        self.state = self.done


class UpstreamHttp1(_TrailingConnection, Http1Client):
    """The real server's side. It never waits for the answer to a command."""

    def handle_event(self, event: events.Event) -> CommandGenerator[None]:
        """Handle an event at once: nothing that is yielded here has to be waited for."""
        return self._handle_event(event)

    _Trailers = ResponseTrailers
    _interim = 0

    def _head_of(self, event: RequestHeaders | ResponseHeaders) -> bytes | None:
        if not isinstance(event, RequestHeaders) or self.stream_id is not None:
            raise RuntimeError("a head while another request is under way")
        if event.request.data.http_version != b"HTTP/1.1":
            return None
        self.stream_id, self.request = event.stream_id, event.request
        return heads.request_head(event.request)

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        """Read a response's head; one that never ends, or that nobody asked for, closes the connection."""
        if isinstance(event, events.DataReceived) and self.request is not None:
            try:
                yield from self._read_interim()
            except ValueError as error:
                yield from self._broken(str(error).partition(":")[0])
                return
            if len(self.buf) > MAX_HEAD:
                yield from self._broken("the answer's head is too long")
                return
            lines = self.buf.maybe_extract_lines()
            if lines:
                yield from self._read_answer(self.request, [bytes(line) for line in lines], event)
            return
        yield from super().read_headers(event)

    def _read_answer(
        self, asked: http.Request, lines: list[bytes], event: events.DataReceived
    ) -> CommandGenerator[None]:
        if self.stream_id is None:
            raise RuntimeError("an answer without a request")
        try:
            self.response = response = heads.read_response(lines)
            size = heads.answer_announced(asked, response)
        except ValueError as error:
            yield from self._broken(f"Cannot parse HTTP response: {error}")
            return
        yield ReceiveHttp(ResponseHeaders(self.stream_id, response, size == 0))
        self.body_reader = make_body_reader(size)
        self.state = self.read_body
        yield from self.state(event)

    def _read_interim(self) -> CommandGenerator[None]:
        """Take whole 1xx heads out of the buffer. 101 stays: it is no interim answer. Raises ValueError."""
        while self._interim_waits():
            lines = self.buf.maybe_extract_lines() or []
            response = heads.read_response([bytes(line) for line in lines])
            self._interim += 1
            if self._interim > MAX_INTERIM:
                raise ValueError("it said more than a hundred times that it has no answer yet")
            if self.stream_id is not None:
                yield ReceiveHttp(InterimHeaders(self.stream_id, response))

    def _interim_waits(self) -> bool:
        whole = bytes(self.buf)
        if whole[9:10] != b"1":
            return False
        interim = whole[9:12] != b"101" and whole[:9] in (b"HTTP/1.1 ", b"HTTP/1.0 ")
        return interim and any(end in whole for end in _HEAD_END)

    def _broken(self, why: str) -> CommandGenerator[None]:
        yield commands.CloseConnection(self.conn)
        if self.stream_id is not None:
            error = ResponseProtocolError(self.stream_id, why, ErrorCode.GENERIC_SERVER_ERROR)
            yield ReceiveHttp(error)

    def mark_done(self, *, request: bool = False, response: bool = False) -> CommandGenerator[None]:
        """Note that one half of the exchange is done."""
        if response:
            self._interim = 0
        yield from super().mark_done(request=request, response=response)


def _goes_on(request: http.Request | None, response: http.Response | None) -> bool:
    """Tell of the usual exchange, without a word of `Connection`, that its connection stays open.

    False is no answer: it may stay open all the same.
    """
    if request is None or response is None:
        return False
    if (request.data.http_version, response.data.http_version) != (b"HTTP/1.1", b"HTTP/1.1"):
        return False
    if request.data.method == b"CONNECT" or not 200 <= response.data.status_code < 600:
        return False
    if values_of(request.headers.fields, b"connection"):
        return False
    names = [name.lower() for name, _ in response.headers.fields]
    special = b"connection" in names or b"transfer-encoding" in names
    return names.count(b"content-length") == 1 and not special


def http1_only(request: http.Request) -> None:
    """Raise ValueError for a version that HTTP/1 framing does not know."""
    if request.data.http_version not in (b"HTTP/1.0", b"HTTP/1.1"):
        raise ValueError(f"{request.http_version} is not HTTP/1")


def _first_words(error: ValueError) -> str:
    """Return what is wrong without the bytes that are: mitmproxy's text ends in a repr of them."""
    return str(error).partition(":")[0].lower()
