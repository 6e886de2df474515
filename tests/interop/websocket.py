"""The classes of cases of the Autobahn suite, as raw frames to one echo server, with hark and without.

Its numbers stand before the names. What is compared is what the client reads: messages, control frames and
the close code.
"""

import contextlib
import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final

from wsproto.frame_protocol import Frame, FrameProtocol, Opcode, ParseFailed

from tests.fakes.talker import echo, talking_to
from tests.mediator.rig import API, running

_KEY: Final = "dGhlIHNhbXBsZSBub25jZQ=="
_HELLO: Final = (
    f"GET /talk HTTP/1.1\r\nHost: {API}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    f"Sec-WebSocket-Key: {_KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n"
).encode()
_QUIET_S: Final = 0.3  # after which nothing more is taken to come
_LONG_S: Final = 3.0
_END_S: Final = 10.0
_LENGTHS: Final = (0, 125, 126, 127, 128, 65535, 65536)


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, rsv: int = 0) -> bytes:
    """Return a masked frame; any opcode and any reserved bits."""
    size = len(payload)
    if size < 126:
        head = bytes([size | 0x80])
    elif size < 1 << 16:
        head = bytes([126 | 0x80]) + size.to_bytes(2)
    else:
        head = bytes([127 | 0x80]) + size.to_bytes(8)
    return bytes([(0x80 if fin else 0) | rsv << 4 | opcode]) + head + b"\0\0\0\0" + payload


_CLOSE: Final = frame(8, b"\x03\xe8")


def cases() -> dict[str, bytes]:
    """Return what is sent, by case."""
    found: dict[str, bytes] = {}
    for size in _LENGTHS:
        found[f"1.1 text of {size}"] = frame(1, b"*" * size)
        found[f"1.2 binary of {size}"] = frame(2, b"\xfe" * size)
    for size in (0, 5, 125, 126):
        found[f"2 ping of {size}"] = frame(9, b"p" * size)
    found["2.7 unasked pong"] = frame(10, b"x") + frame(9, b"y")
    found["2.10 ten pings"] = b"".join(frame(9, b"%d" % n) for n in range(10))
    for rsv in range(1, 8):
        found[f"3 reserved bits {rsv}"] = frame(1, b"x", rsv=rsv)
    for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
        found[f"4 opcode {opcode}"] = frame(opcode, b"x")
    found |= {
        "5.1 a ping in fragments": frame(9, b"a", fin=False) + frame(0, b"b"),
        "5.3 two fragments": frame(1, b"a", fin=False) + frame(0, b"b"),
        "5.6 a ping between fragments": frame(1, b"a", fin=False) + frame(9, b"p") + frame(0, b"b"),
        "5.9 a continuation of nothing": frame(0, b"a"),
        "5.15 a continuation after the end": frame(1, b"a", fin=False) + frame(0, b"b") + frame(0, b"c"),
        "5.18 a text in a text": frame(1, b"a", fin=False) + frame(1, b"b"),
        "5.19 many fragments": frame(1, b"a", fin=False)
        + b"".join(frame(0, b"b", fin=False) + frame(9) for _ in range(5))
        + frame(0, b"c"),
        "6.1 empty fragments": frame(1, fin=False) + frame(0, fin=False) + frame(0),
        "6.2 utf-8": frame(1, "Hello-µ@ßöäüàá-UTF-8!!".encode()),
        "6.2 utf-8 cut inside a character": frame(1, "µ".encode()[:1], fin=False)
        + frame(0, "µ".encode()[1:]),
    }
    invalid = {
        "a lone continuation": b"\x80", "an overlong slash": b"\xc0\xaf", "a surrogate": b"\xed\xa0\x80",
        "beyond the last": b"\xf4\x90\x80\x80", "five bytes": b"\xf8\x88\x80\x80\x80", "cut": b"\xce",
        "fe": b"\xfe", "overlong nul": b"\xe0\x80\x80",
    }  # fmt: skip
    for name, data in invalid.items():
        found[f"6 no utf-8: {name}"] = frame(1, b"a" + data + b"b" * (name != "cut"))
    found |= {
        "7.1.1 a message and a close": frame(1, b"x"),
        "7.1.3 a ping after the close": _CLOSE + frame(9),
        "7.1.4 a text after the close": _CLOSE + frame(1, b"x"),
        "7.3.1 a close without a code": frame(8),
        "7.3.2 a close of one byte": frame(8, b"a"),
        "7.3.4 a reason": frame(8, b"\x03\xe8Hello"),
        "7.3.5 the longest reason": frame(8, b"\x03\xe8" + b"*" * 123),
        "7.3.6 a reason that is too long": frame(8, b"\x03\xe8" + b"*" * 124),
        "7.5.1 a reason that is no utf-8": frame(8, b"\x03\xe8\xce\xba\xff"),
    }
    for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999):
        found[f"7.7 close code {code}"] = frame(8, code.to_bytes(2))
    for code in (0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535):
        found[f"7.9 close code {code}"] = frame(8, code.to_bytes(2))
    for size in (1 << 18, 1 << 20, 4 << 20):
        payload = os.urandom(1 << 10) * (size >> 10)
        found[f"9.1 binary of {size}"] = frame(2, payload)
        pieces = [payload[at : at + 65536] for at in range(0, size, 65536)]
        found[f"9.3 binary of {size} in fragments"] = (
            frame(2, pieces[0], fin=False)
            + b"".join(frame(0, piece, fin=False) for piece in pieces[1:])
            + frame(0)
        )
    found["10 not masked"] = b"\x81\x01x"
    found["10 a length that is not the shortest"] = b"\x81\xfe\x00\x01" + b"\0\0\0\0x"
    return found


def trusting(ca_pem: bytes, *alpn: str) -> ssl.SSLContext:
    """Return the context of a client that trusts a test's CA."""
    context = ssl.create_default_context(cadata=ca_pem.decode())
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def answers() -> Iterator[tuple[str, str, str]]:
    """Yield each case with what came of it without hark and with it."""
    with (
        talking_to(API, echo) as server,
        running(API, upstreams={API: server.address}, roots=server.ca_pem) as rig,
    ):
        host, _, port = server.address.partition(":")

        def direct() -> socket.socket:
            sock = socket.create_connection((host, int(port)), timeout=60)
            return trusting(server.ca_pem).wrap_socket(sock, server_hostname=API)

        for name, data in cases().items():
            patience = _LONG_S if name.startswith("9") else _QUIET_S
            with direct() as sock:
                bare = _talk(sock, data, patience)
            with rig.tls(API) as sock:
                yield name, bare, _talk(sock, data, patience)


def _talk(sock: socket.socket, data: bytes, patience: float) -> str:
    """Return in words what is read in answer: to `data`, and once nothing more comes to a close."""
    sock.sendall(_HELLO)
    head = b""
    while b"\r\n\r\n" not in head:
        head += sock.recv(1)
    client = FrameProtocol(client=True, extensions=[])
    heard = _Heard()
    for said, wait in ((data, patience), (_CLOSE, _END_S)):
        sock.settimeout(wait)
        with contextlib.suppress(OSError, ParseFailed):
            sock.sendall(said)
            while not heard.closed and (piece := sock.recv(1 << 16)):
                client.receive_bytes(piece)
                for got in client.received_frames():
                    heard.take(got)
    return ", ".join(heard.words) or "nothing"


class _Heard:
    """What a client heard, in words."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.closed = False
        self._size = 0

    def take(self, got: Frame) -> None:
        if got.opcode is Opcode.CLOSE:
            self.closed = True
            self.words.append(f"close {int(got.payload[0])}")  # type: ignore[arg-type]
            return
        payload = got.payload.encode() if isinstance(got.payload, str) else got.payload
        self._size += len(payload)
        if got.message_finished:
            self.words.append(f"{got.opcode.name.lower()} of {self._size}")
            self._size = 0
