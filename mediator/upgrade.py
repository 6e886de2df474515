"""A request to switch an HTTP/1.1 connection to another protocol (RFC 9110, 7.8) than a WebSocket. Pure.

Always: of what a client offers, HTTP/2 in the clear is left out as if it had not been said (Java's client
always offers it, and a server may ignore it); the rest goes on as it came, with a Connection header that
names nothing else.
"""

from typing import Final

from mediator import handshake
from mediator.fields import values_of
from mediator.transcript import Headers

_LEFT_OUT: Final = b"h2c"
_DROPPED: Final = frozenset((b"upgrade", b"connection"))


def offered(headers: Headers) -> tuple[bytes, ...]:
    """Return the protocols that a request offers to switch to, in lower case."""
    options = handshake.options(headers, b"upgrade")
    return tuple(option for option in options if option != _LEFT_OUT)


def wanted(headers: Headers) -> bool:
    """Tell whether a request asks for a protocol that is no WebSocket."""
    return bool(offered(headers)) and not handshake.wanted(headers)


def asked_wrong(headers: Headers) -> str:
    """Say what is wrong with such a request, or nothing."""
    if b"upgrade" not in handshake.options(headers, b"connection"):
        return "its Connection header does not say upgrade"
    return ""


def forwarded(headers: Headers) -> Headers:
    """Return the headers to send on, before anything else is done with them."""
    listed = (option.strip() for value in values_of(headers, b"upgrade") for option in value.split(b","))
    names = b", ".join(option for option in listed if option and option.lower() != _LEFT_OUT)
    kept = tuple(field for field in headers if field[0].lower() not in _DROPPED)
    return (*kept, (b"Connection", b"Upgrade"), (b"Upgrade", names))


def answer_wrong(asked: Headers, answer: Headers) -> str:
    """Say what is wrong with a server's 101, or nothing."""
    chosen = handshake.options(answer, b"upgrade")
    if len(chosen) != 1 or chosen[0] not in offered(asked):
        return "it switched to another protocol than it was asked for"
    if b"upgrade" not in handshake.options(answer, b"connection"):
        return "its Connection header does not say upgrade"
    return ""
