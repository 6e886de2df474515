"""The handshake of a WebSocket over HTTP/1.1 (RFC 6455, 4): what may leave of it and what come back. Pure.

Always: no extension is offered to the server, so that messages pass uncompressed and can be searched and
recorded; the agent's program learns from the answer that its offer was not taken.
"""

import base64
from typing import Final

from hark.sums import sha1
from mediator.transcript import Headers

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
_KEY_BYTES: Final = 16
_DROPPED: Final = frozenset((b"upgrade", b"connection", b"sec-websocket-extensions"))


def wanted(headers: Headers) -> bool:
    """Tell whether a request asks for a WebSocket; what else it asks for is `asked_wrong`'s matter."""
    return b"websocket" in options(headers, b"upgrade")


def asked_wrong(method: bytes, headers: Headers) -> str:
    """Say what is wrong with the agent's half, or nothing."""
    if method != b"GET":
        return "a WebSocket begins with GET"
    if b"upgrade" not in options(headers, b"connection"):
        return "its Connection header does not say upgrade"
    if options(headers, b"upgrade") != [b"websocket"]:
        return "it asks for a WebSocket and for something else at once"
    if _values(headers, b"sec-websocket-version") != [b"13"]:
        return "its WebSocket version is not 13"
    keys = _values(headers, b"sec-websocket-key")
    if len(keys) != 1 or not _is_key(keys[0]):
        return "its Sec-WebSocket-Key is none"
    if _values(headers, b"content-length") not in ([], [b"0"]) or _values(headers, b"transfer-encoding"):
        return "a WebSocket's request has no body"
    return ""


def forwarded(headers: Headers) -> Headers:
    """Return the headers to send on, before anything else is done with them."""
    kept = tuple(field for field in headers if field[0].lower() not in _DROPPED)
    return (*kept, (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket"))


def answer_wrong(asked: Headers, answer: Headers) -> str:
    """Say what is wrong with a server's 101, or nothing."""
    if options(answer, b"upgrade") != [b"websocket"] or b"upgrade" not in options(answer, b"connection"):
        return "it switched to another protocol than WebSocket"
    if _values(answer, b"sec-websocket-accept") != [accept(_values(asked, b"sec-websocket-key")[0])]:
        return "its Sec-WebSocket-Accept does not belong to the request"
    if options(answer, b"sec-websocket-extensions"):
        return "it uses a WebSocket extension that was not offered"
    chosen = _values(answer, b"sec-websocket-protocol")
    offered = [
        value.strip() for line in _values(asked, b"sec-websocket-protocol") for value in line.split(b",")
    ]
    if len(chosen) > 1 or any(protocol not in offered for protocol in chosen):
        return "it chose a WebSocket subprotocol that was not offered"
    return ""


def accept(key: bytes) -> bytes:
    """Return the Sec-WebSocket-Accept that belongs to a key."""
    return base64.b64encode(sha1(key + _GUID).digest())


def _is_key(value: bytes) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == _KEY_BYTES
    except ValueError:
        return False


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value.strip() for field, value in headers if field.lower() == name]


def options(headers: Headers, name: bytes) -> list[bytes]:
    """Return the members of a list that header lines of this name are together, in lower case."""
    listed = (option.strip().lower() for value in _values(headers, name) for option in value.split(b","))
    return [option for option in listed if option]
