"""Traps 23 and 24: what clients take for granted of HTTP, and a proxy in between was found to break.

The attack is the day's work: it succeeds if the work fails. Each way it fails was seen in proxies; the test
puts the mistake in the place of what the mediator does.
"""

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Server

from mediator import answering, bodies, handshake, outgoing, tls, wire
from mediator import http as mediator_http
from mediator.judgement import Forward
from tests.attacks.registry import Outcome, Verdict, add, patience, run_without
from tests.fakes.upstream import Call
from tests.mediator.rig import API, pair, raw
from tests.mediator.test_talking import HANDSHAKE, talking

EVENT: Final = b"data: 1\n\n"


def _read(sock: socket.socket, until: bytes) -> bytes:
    """Read until something has come, the other side ends, or patience does."""
    sock.settimeout(patience())
    got = b""
    with contextlib.suppress(OSError):
        while until not in got and (piece := sock.recv(65536)):
            got += piece
    return got


def _http2_refused() -> Outcome:
    """Offer HTTP/2 alone, as gRPC does."""
    with pair() as (rig, _), rig.dial(rig.address(API), 443) as sock:
        context = rig.context("h2")
        with contextlib.suppress(OSError), context.wrap_socket(sock, server_hostname=API) as wrapped:
            spoken = wrapped.selected_alpn_protocol()
            return Outcome.seen(f"{spoken} was agreed on", succeeded=spoken != "h2")
        return Outcome(Verdict.SUCCEEDED, "the handshake failed")


def _trailers_lost() -> Outcome:
    """Ask for an answer with trailers, as gRPC-Web's and signed uploads have."""
    with pair() as (rig, upstream), rig.tls(API) as sock:

        @upstream.on("/t")
        def trailers(call: Call) -> None:
            call.begin_chunked("text/plain")
            call.wfile.write(b"2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n")

        sock.sendall(f"GET /t HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
        got = _read(sock, b"X-Sum: 7\r\n\r\n")
        return Outcome.seen(f"{len(got)} bytes came", succeeded=b"X-Sum: 7" not in got)


def _continue_unsaid() -> Outcome:
    """Wait to be told to go on before a body is sent."""
    with pair() as (rig, _), rig.tls(API) as sock:
        head = f"POST / HTTP/1.1\r\nHost: {API}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        sock.sendall(head.encode())
        got = _read(sock, b"\r\n\r\n")
        return Outcome.seen(got.decode("latin-1")[:40], succeeded=b" 100 " not in got)


def _kept_open() -> Outcome:
    """Ask for the connection to be closed, and wait for that: the answer's end for many a script."""
    with pair() as (rig, _), rig.tls(API) as sock:
        sock.settimeout(patience())
        request = f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode()
        try:
            got = raw(sock, request)
        except TimeoutError:
            return Outcome(Verdict.SUCCEEDED, "it is still open")
        verdict = Verdict.REFUSED if b"200 OK" in got else Verdict.UNKNOWN
        return Outcome(verdict, f"{len(got)} bytes and an end")


def _silent_switch() -> Outcome:
    """Agree on a WebSocket and say something."""
    with talking() as rig, rig.tls(API) as sock:
        sock.sendall(HANDSHAKE.encode() + b"\x81\x85\0\0\0\0hello")
        got = _read(sock, b"\x81\x05hello")
        with contextlib.suppress(OSError):
            sock.sendall(b"\x88\x80\0\0\0\0")
        return Outcome.seen(f"{len(got)} bytes came", succeeded=b"\x81\x05hello" not in got)


def _length_of_head() -> Outcome:
    """Ask how long a page is, as download managers do."""
    with pair() as (rig, upstream), rig.https() as client:
        upstream.routes["/h"] = lambda call: call.reply(200, b"x" * 1234)
        client.request("HEAD", "/h")
        length = client.getresponse().getheader("content-length")
        return Outcome.seen(f"it has {length} bytes", succeeded=length != "1234")


def _one_cookie() -> Outcome:
    """Log in to a site that sets two cookies."""
    with pair() as (rig, upstream), rig.https() as client:
        cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
        upstream.routes["/c"] = lambda call: call.reply(200, b"", cookies)
        client.request("GET", "/c")
        got = client.getresponse().headers.get_all("set-cookie")
        return Outcome.seen(str(got), succeeded=got != ["a=1", "b=2"])


def _held_events() -> Outcome:
    """Wait for an event that the server has written, while it goes on."""
    done = threading.Event()
    with pair() as (rig, upstream), rig.https() as client:

        @upstream.on("/sse")
        def stream(call: Call) -> None:
            call.begin_chunked("text/event-stream")
            call.chunk(EVENT)
            done.wait(60)
            call.chunk(b"")

        try:
            client.sock.settimeout(patience())
            client.request("GET", "/sse")
            got = client.getresponse().read1(100)
        except (TimeoutError, http.client.HTTPException):
            return Outcome(Verdict.SUCCEEDED, "nothing came until the end")
        finally:
            done.set()
        return Outcome.seen(f"{got!r} came", succeeded=got != EVENT)


def _only_http1() -> AbstractContextManager[object]:
    return patch.object(tls, "ALPN", (b"http/1.1",))


class _Bare(Http1Server):
    """The agent's side as mitmproxy 12.3 has it."""

    ahead = 0

    def __init__(self, context: Any, _malformed: object) -> None:
        super().__init__(context)


@contextlib.contextmanager
def _mitmproxys_own() -> Iterator[None]:
    """HTTP/1.1 as mitmproxy reads and writes it, on both sides."""
    agent = patch.object(mediator_http, "AgentHttp1", _Bare)
    with agent, patch.object(mediator_http, "UpstreamHttp1", Http1Client):
        yield


def _forward_without(**changes: Any) -> Callable[[], AbstractContextManager[object]]:
    def judged(*about: Any) -> Any:
        verdict = _judge(*about)
        return replace(verdict, **changes) if isinstance(verdict, Forward) else verdict

    return lambda: patch.object(outgoing, "judge", judged)


_judge: Final = outgoing.judge
_of_answer: Final = bodies.of_answer
_of_head: Final = answering.Answering._on_answer


def _never_closed() -> AbstractContextManager[object]:
    return patch.object(wire, "_goes_on", lambda *_: True)


def _not_taken_for_one() -> AbstractContextManager[object]:
    return patch.object(handshake, "wanted", lambda _: False)


def _with_the_bodys_length() -> AbstractContextManager[object]:
    """Say the length of the body that is passed, of which an answer to HEAD has none."""

    def on_answer(self: Any, event: Any) -> Any:
        if event.end_stream:
            event.response.headers["content-length"] = "0"
        return _of_head(self, event)

    return patch.object(answering.Answering, "_on_answer", on_answer)


def _fields_as_a_mapping() -> AbstractContextManager[object]:
    def of_answer(*about: Any, **more: Any) -> Any:
        headers, way = _of_answer(*about, **more)
        return tuple({name.lower(): (name, value) for name, value in headers}.values()), way

    return patch.object(bodies, "of_answer", of_answer)


def _until_the_end() -> AbstractContextManager[object]:
    """Pass the body on in one piece."""
    held: list[bytes] = []

    def looked_at(_self: Any, data: bytes) -> Generator[Any, Any, bytes]:
        held.append(data)
        yield from ()
        return b""

    return patch.object(answering.Answering, "_looked_at", looked_at)


MISTAKES: Final = (
    (23, "a client of HTTP/2 alone finds no common protocol", _http2_refused, _only_http1),
    (23, "an answer with trailers breaks off", _trailers_lost, _mitmproxys_own),
    (24, "a client waits for 100 Continue", _continue_unsaid, _forward_without(wants_continue=False)),
    (24, "a connection that is to be closed stays open", _kept_open, _never_closed),
    (24, "a WebSocket is silent behind its 101", _silent_switch, _not_taken_for_one),
    (24, "an answer to HEAD says 0 bytes", _length_of_head, _with_the_bodys_length),
    (24, "a second Set-Cookie is lost", _one_cookie, _fields_as_a_mapping),
    (24, "events wait for the end of their stream", _held_events, _until_the_end),
)

for _trap, _name, _run, _mistake in MISTAKES:
    add(_trap, _name, _run, run_without(_mistake, _run))
