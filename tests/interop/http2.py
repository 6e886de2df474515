"""Cases of the kinds that h2spec has (RFC 9113, RFC 7541), as raw frames to one server, mediated and not.

What is compared is how a connection or a stream ends: answered, reset, or the error code of a GOAWAY. Each
side has an implementation of its own, so codes may differ where the RFC leaves the choice.
"""

import contextlib
import socket
from collections.abc import Iterator
from typing import Final

import hpack
from hyperframe.exceptions import HyperframeError
from hyperframe.frame import Frame

from tests.fakes.upstream_h2 import echo, serving_h2
from tests.interop.websocket import trusting
from tests.mediator.rig import API, running

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD: Final = ((":method", "GET"), (":scheme", "https"), (":path", "/x"), (":authority", API))
_POST: Final = ((":method", "POST"), *_HEAD[1:])
_PATIENCE_S: Final = 1.0


def raw(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return any frame."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def head(*fields: tuple[str, str], flags: int = 5, stream: int = 1) -> bytes:
    """Return a HEADERS frame without Huffman coding or a table; END_STREAM and END_HEADERS unless said."""
    return raw(1, flags, stream, hpack.Encoder().encode(fields, huffman=False))


_SETTINGS: Final = raw(4, 0, 0)
_FINE: Final = head(*_HEAD)

CASES: Final = {
    "3.4 a wrong preface": b"GET / HTTP/1.1\r\n\r\n",
    "3.4 a request": PREFACE + _SETTINGS + _FINE,
    "4.1 an unknown frame": PREFACE + _SETTINGS + raw(0xEE, 0, 0, b"x") + _FINE,
    "4.2 a frame that is too large": PREFACE
    + _SETTINGS
    + head(*_POST, flags=4)
    + raw(0, 1, 1, bytes(1 << 18)),
    "4.3 a head that is no HPACK": PREFACE + _SETTINGS + raw(1, 5, 1, b"\xff\xff\xff\xff\xff\xff"),
    "5.1 DATA on an idle stream": PREFACE + _SETTINGS + raw(0, 1, 1, b"x"),
    "5.1 RST_STREAM on an idle stream": PREFACE + _SETTINGS + raw(3, 0, 1, b"\0\0\0\x08"),
    "5.1 WINDOW_UPDATE on an idle stream": PREFACE + _SETTINGS + raw(8, 0, 1, b"\0\0\0\x01"),
    "5.1 DATA after the end": PREFACE + _SETTINGS + _FINE + raw(0, 1, 1, b"x"),
    "5.1.1 an even stream": PREFACE + _SETTINGS + head(*_HEAD, stream=2),
    "5.1.1 a lower stream": PREFACE + _SETTINGS + head(*_HEAD, stream=5) + head(*_HEAD, stream=3),
    "5.3.1 a stream that depends on itself": PREFACE + _SETTINGS + raw(2, 0, 1, b"\0\0\0\x01\0") + _FINE,
    "5.5 a frame within a head": PREFACE + _SETTINGS + head(*_HEAD, flags=1) + raw(6, 0, 0, b"x" * 8),
    "6.1 DATA on stream 0": PREFACE + _SETTINGS + raw(0, 0, 0, b"x"),
    "6.1 more padding than data": PREFACE + _SETTINGS + head(*_POST, flags=4) + raw(0, 9, 1, b"\x09x"),
    "6.2 HEADERS on stream 0": PREFACE + _SETTINGS + head(*_HEAD, stream=0),
    "6.4 RST_STREAM on stream 0": PREFACE + _SETTINGS + raw(3, 0, 0, b"\0\0\0\x08"),
    "6.4 RST_STREAM of five bytes": PREFACE + _SETTINGS + head(*_POST, flags=4) + raw(3, 0, 1, b"\0" * 5),
    "6.5 SETTINGS on a stream": PREFACE + raw(4, 0, 1),
    "6.5 an acknowledgement with a payload": PREFACE + _SETTINGS + raw(4, 1, 0, b"\0\x01\0\0\0\0"),
    "6.5 SETTINGS of five bytes": PREFACE + raw(4, 0, 0, b"\0" * 5),
    "6.5.2 ENABLE_PUSH of 2": PREFACE + raw(4, 0, 0, b"\0\x02\0\0\0\x02"),
    "6.5.2 a window beyond 2**31": PREFACE + raw(4, 0, 0, b"\0\x04\x80\0\0\0"),
    "6.5.2 a frame size below the least": PREFACE + raw(4, 0, 0, b"\0\x05\0\0\x3f\xff"),
    "6.7 PING on a stream": PREFACE + _SETTINGS + raw(6, 0, 1, b"x" * 8),
    "6.7 PING of six bytes": PREFACE + _SETTINGS + raw(6, 0, 0, b"x" * 6),
    "6.8 GOAWAY on a stream": PREFACE + _SETTINGS + raw(7, 0, 1, b"\0" * 8),
    "6.9 a window of 0": PREFACE + _SETTINGS + raw(8, 0, 0, b"\0\0\0\0"),
    "6.9.1 a window beyond 2**31": PREFACE + _SETTINGS + raw(8, 0, 0, b"\x7f\xff\xff\xff"),
    "6.10 CONTINUATION of nothing": PREFACE + _SETTINGS + raw(9, 4, 1, b""),
    "6.10 CONTINUATION on another stream": PREFACE + _SETTINGS + head(*_HEAD, flags=1) + raw(9, 4, 3, b""),
    "8.2 a name in capitals": PREFACE + _SETTINGS + head(*_HEAD, ("X-Test", "1")),
    "8.2.2 a connection header": PREFACE + _SETTINGS + head(*_HEAD, ("connection", "keep-alive")),
    "8.2.2 TE of something else": PREFACE + _SETTINGS + head(*_HEAD, ("te", "gzip")),
    "8.3 an unknown pseudo-header": PREFACE + _SETTINGS + head(*_HEAD, (":test", "1")),
    "8.3 a pseudo-header of answers": PREFACE + _SETTINGS + head(*_HEAD, (":status", "200")),
    "8.3 a pseudo-header behind a header": PREFACE + _SETTINGS + head(("x", "1"), *_HEAD),
    "8.3.1 an empty path": PREFACE + _SETTINGS + head(*_HEAD[:2], (":path", ""), _HEAD[3]),
    "8.3.1 no method": PREFACE + _SETTINGS + head(*_HEAD[1:]),
    "8.3.1 no path": PREFACE + _SETTINGS + head(*_HEAD[:2], _HEAD[3]),
    "8.3.1 two methods": PREFACE + _SETTINGS + head(_HEAD[0], *_HEAD),
    "8.1.1 a false length": PREFACE
    + _SETTINGS
    + head(*_POST, ("content-length", "1"), flags=4)
    + raw(0, 1, 1, b"test"),
    "8.4 PUSH_PROMISE of a client": PREFACE + _SETTINGS + raw(5, 4, 1, b"\0\0\0\x02"),
    "HPACK an index of 0": PREFACE + _SETTINGS + raw(1, 5, 1, b"\x80"),
    "HPACK an index beyond the table": PREFACE + _SETTINGS + raw(1, 5, 1, b"\xc6"),
    "HPACK a table that is too large": PREFACE + _SETTINGS + raw(1, 5, 1, b"\x3f\xff\xff\x7f"),
}


def answers() -> Iterator[tuple[str, str, str]]:
    """Yield each case with what came of it without hark and with it."""
    with (
        serving_h2(API, echo) as server,
        running(API, upstreams={API: server.address}, roots=server.ca_pem) as rig,
    ):
        host, _, port = server.address.partition(":")
        for name, data in CASES.items():
            context = trusting(server.ca_pem, "h2")
            plain = socket.create_connection((host, int(port)), timeout=60)
            with context.wrap_socket(plain, server_hostname=API) as sock:
                bare = _talk(sock, data)
            with rig.tls(API, 443, None, "h2") as sock:
                yield name, bare, _talk(sock, data)


def _talk(sock: socket.socket, data: bytes) -> str:
    sock.settimeout(_PATIENCE_S)
    got = b""
    with contextlib.suppress(OSError):
        sock.sendall(data)
        while piece := sock.recv(1 << 16):
            got += piece
            if any(word.startswith("answered") for word in _words(got)):
                break
    return ", ".join(_words(got)) or "closed"


def _words(data: bytes) -> list[str]:
    """Return what ended something, of the frames that were read."""
    found = []
    with contextlib.suppress(HyperframeError):
        while len(data) >= 9:
            parsed, length = Frame.parse_frame_header(memoryview(data[:9]))
            body, data = data[9 : 9 + length], data[9 + length :]
            match type(parsed).__name__:
                case "GoAwayFrame":
                    found.append(f"GOAWAY {int.from_bytes(body[4:8])}")
                case "RstStreamFrame":
                    found.append(f"reset {int.from_bytes(body)}")
                case "HeadersFrame":
                    found.append(f"answered {dict(hpack.Decoder().decode(body)).get(':status')}")
                case _:
                    pass
    return found[:1]
