"""A real server on loopback: TLS with its own CA or plain, HTTP/1.1, told path by path what to answer."""

import datetime
import ipaddress
import os
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

type Answer = Callable[["Call"], None]


@dataclass
class Seen:
    """One request as the server got it."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    sni: str | None = None
    connection: int = 0

    def header(self, name: str) -> str | None:
        """Return the only value of a header."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return values[0] if len(values) == 1 else None


@dataclass
class Upstream:
    """A running server. `seen` grows as requests arrive; `dials` counts accepted connections."""

    port: int = 0
    ca_pem: bytes = b""
    seen: list[Seen] = field(default_factory=list)
    dials: int = 0
    routes: dict[str, Answer] = field(default_factory=dict)
    connections: dict[int, int] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Return what `-upstream HOST=` takes."""
        return f"127.0.0.1:{self.port}"

    def on(self, path: str) -> Callable[[Answer], Answer]:
        """Answer a path by a function."""

        def keep(answer: Answer) -> Answer:
            self.routes[path] = answer
            return answer

        return keep


class Call(BaseHTTPRequestHandler):
    """One request under way; a route may write raw bytes to `wfile`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream: Upstream
    body: bytes
    record: Seen

    def handle_one_request(self) -> None:
        """As the base class, but a peer that goes away is no error."""
        with suppress(OSError, ValueError):
            return super().handle_one_request()
        self.close_connection = True
        return None

    def reply(self, status: int, body: bytes = b"", headers: list[tuple[str, str]] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in headers or []:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data: bytes) -> None:
        """Send one chunk of a chunked answer; the empty one ends it."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def begin_chunked(self, content_type: str, headers: list[tuple[str, str]] | None = None) -> None:
        """Send the head of a chunked answer."""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in headers or []:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()

    def cut(self) -> None:
        """Close the connection in the middle."""
        self.close_connection = True
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def do(self) -> None:
        """Answer a request."""
        sock = self.connection
        self.record = Seen(self.command, self.path, self.headers.items())
        self.record.sni = self.upstream_sni()
        self.record.connection = id(sock)
        self.upstream.seen.append(self.record)
        route = self.upstream.routes.get(self.path.partition("?")[0], _echo)
        if not getattr(route, "early", False):
            self.record.body = self.body = b"".join(self.pieces())
        route(self)

    def upstream_sni(self) -> str | None:
        """Return the server name that this connection was made with."""
        return getattr(self.connection, "hark_sni", None)

    def pieces(self) -> Iterator[bytes]:
        """Read the body."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            while (line := self.rfile.readline()) not in (b"\r\n", b""):
                name, _, value = line.decode().partition(":")
                self.record.headers.append((f"trailer:{name}", value.strip()))
        else:
            left = int(self.headers.get("Content-Length", 0))
            while left:
                piece = self.rfile.read(min(left, 1 << 16))
                if not piece:
                    return
                left -= len(piece)
                yield piece

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do  # noqa: N815  # the base class's names


def early(answer: Answer) -> Answer:
    """Mark a route that answers without reading the body."""
    answer.early = True  # type: ignore[attr-defined]
    return answer


def _echo(call: Call) -> None:
    call.reply(200, b"%s %s %d" % (call.command.encode(), call.path.encode(), len(call.body)))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    upstream: Upstream
    context: ssl.SSLContext | None = None

    def get_request(self) -> Any:
        sock, address = super().get_request()
        self.upstream.dials += 1
        return sock, address

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.context is not None:
            try:
                request = self.context.wrap_socket(request, server_side=True)
            except OSError:
                return
        try:
            super().finish_request(request, client_address)
        finally:
            request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away is a test's doing."""


@contextmanager
def serving(*names: str, tls: bool = True) -> Iterator[Upstream]:
    """Run a server whose certificate is for `names`."""
    upstream = Upstream()
    handler = type("BoundCall", (Call,), {"upstream": upstream})
    server = _Server(("127.0.0.1", 0), handler)
    server.upstream = upstream
    upstream.port = server.server_address[1]
    if tls:
        upstream.ca_pem, server.context = certified(names)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.002}, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Named(ssl.SSLSocket):
    """Remembers its server name."""

    hark_sni: str | None = None


def certified(names: tuple[str, ...]) -> tuple[bytes, ssl.SSLContext]:
    """Return a CA and a server context with a certificate of it for `names`."""
    ca_pem, key, chain = certified_pem(names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslsocket_class = _Named
    context.set_alpn_protocols(["http/1.1"])

    def named(sock: ssl.SSLObject, name: str, _context: ssl.SSLContext) -> None:
        sock.hark_sni = name  # type: ignore[attr-defined]

    context.sni_callback = named
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(key + chain)
    context.load_cert_chain(file.name)
    os.unlink(file.name)
    return ca_pem, context


def certified_pem(names: tuple[str, ...]) -> tuple[bytes, bytes, bytes]:
    """Return a CA, a key and a certificate of that CA for `names`, as PEM."""
    ca_key, ca = _certificate(None, None, (f"stub CA of {names[0]}",), ca=True)
    key, leaf = _certificate(ca_key, ca, names, ca=False)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return ca.public_bytes(pem), private, leaf.public_bytes(pem)


def _certificate(
    issuer_key: ec.EllipticCurvePrivateKey | None,
    issuer: x509.Certificate | None,
    names: tuple[str, ...],
    *,
    ca: bool,
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key((issuer_key or key).public_key()),
            critical=False,
        )
        .add_extension(_usage(ca=ca), critical=True)
    )
    if not ca:
        alternative = x509.SubjectAlternativeName([_general(name) for name in names])
        builder = builder.add_extension(alternative, critical=False)
    return key, builder.sign(issuer_key or key, hashes.SHA256())


def _usage(*, ca: bool) -> x509.KeyUsage:
    """Return what strict clients ask to be said: the default of Python's `ssl` from 3.13 on."""
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
