"""What a client's first bytes are: TLS with a name, HTTP/1, something else, or not enough yet. No IO.

A value is a function of the bytes alone and never changes as more arrive: `More` turns into exactly one of
the others. Only the ClientHello is read; the handshake itself, and with it the final word on the server
name, is OpenSSL's, and the two are compared afterwards (see `mediator.handler`).
"""

import re
from dataclasses import dataclass
from typing import Final

MAX_HELLO: Final = 1 << 16  # four records; post-quantum key shares need two
MAX_METHOD: Final = 20  # the longest registered method has 17 letters
_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1
_SERVER_NAME: Final = 0
_ALPN: Final = 16
_H2_PREFACE: Final = b"PRI * HTTP/2.0"
_METHOD: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,20}")
_TARGET: Final = (b"/", b"*", b"http://", b"https://")


@dataclass(frozen=True, slots=True)
class More:
    """Not enough bytes to tell."""


@dataclass(frozen=True, slots=True)
class Tls:
    """A complete ClientHello. `sni` is exactly what was sent, None where nothing was."""

    sni: bytes | None
    alpn: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Http:
    """The beginning of an HTTP/1 request."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither. `protocol` is a word for the record, `why` a sentence's end."""

    protocol: str
    why: str


type Sniffed = More | Tls | Http | Unknown


class _ShortError(Exception):
    """The bytes end inside a structure."""


class _BadError(Exception):
    """The bytes cannot be a ClientHello."""


def sniff(data: bytes) -> Sniffed:
    """Classify the first bytes of a connection. Every input gives a value."""
    if not data:
        return More()
    if data[0] == _HANDSHAKE:
        return _tls(data)
    return _plain(data)


def _plain(data: bytes) -> Sniffed:
    if data.startswith(b"SSH-"):
        return Unknown("ssh", "SSH is not passed")
    if _H2_PREFACE.startswith(data[:14]):
        return More() if len(data) < 14 else Unknown("h2c", "HTTP/2 without TLS is not passed")
    method, space, rest = data[: MAX_METHOD + 1].partition(b" ")
    if not _METHOD.fullmatch(method):
        return Unknown("tcp", "it is neither TLS nor HTTP")
    if not space:
        return More() if len(data) <= MAX_METHOD else Unknown("tcp", "it is neither TLS nor HTTP")
    rest = data[len(method) + 1 :]
    if rest.startswith(_TARGET) or (method == b"CONNECT" and rest):
        return Http()
    if any(target.startswith(rest.lower()) for target in _TARGET):
        return More()
    if rest.lower().startswith((b"http://", b"https://")):
        return Http()
    return Unknown("tcp", "it is neither TLS nor HTTP")


def _tls(data: bytes) -> Sniffed:
    try:
        return _hello(_Reader(_handshake(data)))
    except _ShortError:
        if len(data) > MAX_HELLO:
            return Unknown("tls", f"its ClientHello is longer than {MAX_HELLO} bytes")
        return More()
    except _BadError as error:
        return Unknown("tls", str(error))


def _handshake(data: bytes) -> bytes:
    """Return the ClientHello's body, joined from its records. Raises _ShortError or _BadError."""
    message = b""
    offset = 0
    while True:
        head = data[offset : offset + 5]
        if head[:1] not in (b"", b"\x16") or head[1:2] not in (b"", b"\x03"):
            raise _BadError("its first records are not a handshake")
        if len(head) < 5:
            raise _ShortError
        size = int.from_bytes(head[3:5])
        if not size:
            raise _BadError("it begins with an empty record")
        message += data[offset + 5 : offset + 5 + size]
        if message[:1] != bytes((_CLIENT_HELLO,)):
            if message:
                raise _BadError("its first message is not a ClientHello")
            raise _ShortError
        if len(message) >= 4:
            end = 4 + int.from_bytes(message[1:4])
            if end > MAX_HELLO:
                raise _BadError(f"its ClientHello is longer than {MAX_HELLO} bytes")
            if len(message) >= end:
                return message[4:end]
        offset += 5 + size
        if offset > len(data):
            raise _ShortError


class _Reader:
    """Length-prefixed fields of a complete message: here, too few bytes are an error for good."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise _BadError("its ClientHello contradicts its own lengths")
        piece, self.at = self.data[self.at : end], end
        return piece

    def vector(self, prefix: int) -> bytes:
        return self.take(int.from_bytes(self.take(prefix)))

    @property
    def done(self) -> bool:
        return self.at == len(self.data)


def _hello(body: _Reader) -> Tls:
    body.take(2 + 32)  # legacy_version, random
    body.vector(1)
    body.vector(2)
    body.vector(1)
    sni: bytes | None = None
    alpn: tuple[bytes, ...] = ()
    seen: set[int] = set()
    extensions = _Reader(b"" if body.done else body.vector(2))
    while not extensions.done:
        kind = int.from_bytes(extensions.take(2))
        value = _Reader(extensions.vector(2))
        if kind in seen:
            raise _BadError("its ClientHello has an extension twice")
        seen.add(kind)
        if kind == _SERVER_NAME:
            sni = _server_name(value)
        elif kind == _ALPN:
            alpn = _protocols(value)
    return Tls(sni, alpn)


def _server_name(value: _Reader) -> bytes:
    names = _Reader(value.vector(2))
    if names.take(1) != b"\0":
        raise _BadError("its server name is of an unknown kind")
    name = names.vector(2)
    if not names.done or not value.done or not name:
        raise _BadError("its ClientHello has not exactly one server name")
    return name


def _protocols(value: _Reader) -> tuple[bytes, ...]:
    listed = _Reader(value.vector(2))
    found: list[bytes] = []
    while not listed.done:
        found.append(listed.vector(1))
    return tuple(found)
