"""Trap 19: a request within another: the mediator would take it for a body, and the server for the next one.

The server here is as lenient as any that was found to be: it takes bare line feeds, folded lines, blanks
before a colon, and goes by length or by chunks as it was built. What it saw is compared with the record.
Without hark in between the bytes go to it as they are; of HTTP/2, as a careless gateway writes them down.
"""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import h2.config
import h2.connection
import h2.exceptions

from hark.bundle.events import LlmRequest
from tests.attacks.registry import Outcome, add
from tests.fakes.upstream import certified
from tests.mediator.rig import API, Rig, running
from tests.support.waiting import until

SMUGGLED: Final = b"GET /smuggled HTTP/1.1\r\nHost: api.example.test\r\n\r\n"
_PATIENCE_S: Final = 1.5

type Fields = tuple[tuple[bytes, bytes], ...]


class Lenient:
    """Reads requests off a connection, framed by `by`: `length`, `chunks` or `nothing`."""

    def __init__(self, by: str) -> None:
        self.by = by
        self.paths: list[bytes] = []

    def talk(self, sock: socket.socket) -> None:
        """Answer until the other side ends."""
        with contextlib.suppress(OSError, ValueError, IndexError), sock, sock.makefile("rb") as read:
            while line := read.readline():
                if not line.strip():
                    continue
                self.paths.append(line.split()[1])
                self._skip_body(read, self._fields(read))
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def _fields(self, read: object) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        while (line := read.readline()).strip():  # type: ignore[attr-defined]
            name, _, value = line.partition(b":")
            found[name.strip().lower()] = value.strip()
        return found

    def _skip_body(self, read: object, fields: dict[bytes, bytes]) -> None:
        if self.by == "chunks" and b"chunked" in fields.get(b"transfer-encoding", b"").lower():
            while size := int(re.match(rb"[0-9a-fA-F]+", read.readline())[0], 16):  # type: ignore[attr-defined,index]
                read.read(size)  # type: ignore[attr-defined]
                read.readline()  # type: ignore[attr-defined]
            while read.readline().strip():  # type: ignore[attr-defined]
                pass
        elif self.by != "nothing":
            read.read(int(re.match(rb"\D*(\d*)", fields.get(b"content-length", b""))[1] or 0))  # type: ignore[attr-defined,index]


@contextmanager
def lenient(by: str, context: ssl.SSLContext | None = None) -> Iterator[tuple[Lenient, str]]:
    """Run such a server and give its address."""
    server = Lenient(by)
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock = listener.accept()[0]
                if context is not None:
                    sock = context.wrap_socket(sock, server_side=True)
                threading.Thread(target=server.talk, args=(sock,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server, f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(1)


def _say(sock: socket.socket, data: bytes) -> None:
    """Send, and read what comes for as long as something does."""
    sock.settimeout(_PATIENCE_S)
    with contextlib.suppress(OSError):
        sock.sendall(data)
        while sock.recv(65536):
            pass


def _outcome(server: Lenient, rig: Rig | None) -> Outcome:
    recorded = {request.path.encode() for request in rig.recorder.of(LlmRequest)} if rig else set()
    hidden = [path for path in server.paths if path not in recorded] if rig else server.paths[1:]
    return Outcome.seen(
        f"the server saw {[path.decode('latin-1') for path in server.paths]}",
        succeeded=b"/smuggled" in hidden,
    )


def _http1(by: str, data: bytes) -> Outcome:
    with lenient(by) as (server, address), running(f"{API}:80", upstreams={API: address}) as rig:
        with rig.dial(rig.address(API), 80) as sock:
            _say(sock, data)
        return _outcome(server, rig)


def _http1_bare(by: str, data: bytes) -> Outcome:
    with lenient(by) as (server, address):
        host, _, port = address.partition(":")
        with socket.create_connection((host, int(port))) as sock, contextlib.suppress(AssertionError):
            sock.sendall(data)
            until(lambda: b"/smuggled" in server.paths)
        return _outcome(server, None)


def _http2(by: str, fields: Fields, body: bytes) -> Outcome:
    ca_pem, context = certified((API,))
    with (
        lenient(by, context) as (server, address),
        running(API, upstreams={API: address}, roots=ca_pem) as rig,
        rig.tls(API, 443, None, "h2") as sock,
    ):
        client = h2.connection.H2Connection(
            h2.config.H2Configuration(
                header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
            )
        )
        client.initiate_connection()
        with contextlib.suppress(h2.exceptions.ProtocolError):
            client.send_headers(1, fields, end_stream=not body)
            if body:
                client.send_data(1, body, end_stream=True)
        _say(sock, client.data_to_send())
        return _outcome(server, rig)


def _http2_bare(by: str, fields: Fields, body: bytes) -> Outcome:
    """What a gateway writes that copies each field as it came."""
    pseudo = dict(field for field in fields if field[0].startswith(b":"))
    lines = [pseudo[b":method"] + b" " + pseudo[b":path"] + b" HTTP/1.1", b"Host: " + pseudo[b":authority"]]
    lines += [name + b": " + value for name, value in fields if not name.startswith(b":")]
    return _http1_bare(by, b"\r\n".join(lines) + b"\r\n\r\n" + body)


def _post(*lines: str, body: bytes) -> bytes:
    head = "".join(f"{line}\r\n" for line in ("POST /outer HTTP/1.1", f"Host: {API}", *lines))
    return head.encode("latin-1") + b"\r\n" + body


_ALL: Final = len(b"0\r\n\r\n" + SMUGGLED)
_CHUNKED: Final = b"%x\r\n%s\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED)
_HIDDEN: Final = b"0\r\n\r\n" + SMUGGLED

HTTP1: Final = {
    "CL.TE": ("chunks", _post(f"Content-Length: {_ALL}", "Transfer-Encoding: chunked", body=_HIDDEN)),
    "TE.CL": ("length", _post("Content-Length: 4", "Transfer-Encoding: chunked", body=_CHUNKED)),
    "TE.0": ("nothing", _post("Transfer-Encoding: chunked", body=b"\r\n" + SMUGGLED)),
    "CL.0": ("nothing", _post("Content-Length: 0", f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED)),
    "two lengths": ("length", _post(f"Content-Length: {len(SMUGGLED)}", "Content-Length: 0", body=SMUGGLED)),
    "a list of lengths": ("length", _post(f"Content-Length: 0, {len(SMUGGLED)}", body=SMUGGLED)),
    "a signed length": ("nothing", _post(f"Content-Length: +{len(SMUGGLED)}", body=SMUGGLED)),
    "a folded line": (
        "chunks",
        _post(f"Content-Length: {_ALL}", "X: a\r\n Transfer-Encoding: chunked", body=_HIDDEN),
    ),
    "a bare line feed": (
        "chunks",
        _post(f"Content-Length: {_ALL}", "X: a\nTransfer-Encoding: chunked", body=_HIDDEN),
    ),
    "a blank before the colon": (
        "chunks",
        _post(f"Content-Length: {_ALL}", "Transfer-Encoding : chunked", body=_HIDDEN),
    ),
    "a blank before the name": (
        "chunks",
        _post(f"Content-Length: {_ALL}", "\tTransfer-Encoding: chunked", body=_HIDDEN),
    ),
    "a coding that is nearly chunked": (
        "chunks",
        _post(f"Content-Length: {_ALL}", "Transfer-Encoding: xchunked", body=_HIDDEN),
    ),
    "chunked with a vertical tab": (
        "chunks",
        _post(f"Content-Length: {_ALL}", "Transfer-Encoding: \x0bchunked", body=_HIDDEN),
    ),
    "chunked twice": (
        "length",
        _post("Content-Length: 4", "Transfer-Encoding: chunked, chunked", body=_CHUNKED),
    ),
    "a chunk extension with a line feed": (
        "chunks",
        _post("Transfer-Encoding: chunked", body=b"2;\nxx\r\n0\r\n\r\n" + SMUGGLED),
    ),
    "a chunk size with a prefix": (
        "chunks",
        _post("Transfer-Encoding: chunked", body=b"0x%x\r\n\r\n" % len(SMUGGLED) + SMUGGLED),
    ),
}

_PSEUDO: Final = (
    (b":method", b"POST"), (b":scheme", b"https"), (b":authority", API.encode()), (b":path", b"/outer"),
)  # fmt: skip


def _with(*more: tuple[bytes, bytes]) -> Fields:
    """Return a head with other fields, a pseudo-header in place of the one of that name."""
    replaced = dict(more)
    kept = tuple((name, replaced.get(name, value)) for name, value in _PSEUDO)
    return kept + tuple(field for field in more if not field[0].startswith(b":"))


_END: Final = b" HTTP/1.1\r\nHost: x\r\n\r\n"

HTTP2: Final = {
    "h2 with chunks": ("chunks", _with((b"transfer-encoding", b"chunked")), _HIDDEN),
    "h2 with a false length": ("length", _with((b"content-length", b"0")), SMUGGLED),
    "h2 with a line end in a value": ("chunks", _with((b"x", b"a\r\ntransfer-encoding: chunked")), _HIDDEN),
    "h2 with a line end in a name": ("chunks", _with((b"x: a\r\ntransfer-encoding", b"chunked")), _HIDDEN),
    "h2 with a bare line feed in a value": (
        "chunks",
        _with((b"x", b"a\ntransfer-encoding: chunked")),
        _HIDDEN,
    ),
    "h2 with a request in its path": ("nothing", _with((b":path", b"/outer" + _END + SMUGGLED)), b""),
    "h2 with a request in its method": ("nothing", _with((b":method", b"GET /a" + _END + SMUGGLED)), b""),
    "h2 with a request in its authority": (
        "nothing",
        _with((b":authority", API.encode() + b"\r\n\r\n" + SMUGGLED)),
        b"",
    ),
    "h2 with a blank after a name": ("chunks", _with((b"transfer-encoding ", b"chunked")), _HIDDEN),
    "h2 with a second head behind a value": ("nothing", _with((b"x", b"a\r\n\r\n" + SMUGGLED)), b""),
}

for _name, (_by, _data) in HTTP1.items():
    add(
        19,
        f"a request within another: {_name}",
        lambda by=_by, data=_data: _http1(by, data),  # type: ignore[misc]
        lambda by=_by, data=_data: _http1_bare(by, data),  # type: ignore[misc]
    )
for _name, (_by, _fields, _body) in HTTP2.items():
    add(
        19,
        f"a request within another: {_name}",
        lambda by=_by, fields=_fields, body=_body: _http2(by, fields, body),  # type: ignore[misc]
        lambda by=_by, fields=_fields, body=_body: _http2_bare(by, fields, body),  # type: ignore[misc]
    )
