"""A server that speaks enough of MySQL's protocol 10 for a real client: it greets, checks the password, and
every query gets one row.

Layouts: dev.mysql.com, "MySQL Internals", Connection Phase and Text Protocol. No TLS, no compression.
"""

import hashlib
import secrets
import socket
import struct
from collections.abc import Callable
from io import BufferedReader
from typing import Final

QUIT, QUERY = 1, 3
UTF8MB4: Final = 45
AUTOCOMMIT: Final = 2
# LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH
CAPABILITIES: Final = 1 | 1 << 3 | 1 << 9 | 1 << 15 | 1 << 19
PLUGIN: Final = b"mysql_native_password"
END: Final = struct.pack("<BHH", 0xFE, 0, AUTOCOMMIT)
VAR_STRING: Final = 0xFD


def serving(user: str, password: str) -> Callable[[socket.socket], None]:
    """Return what serves one connection after the other, and lets that user in."""

    def serve(connection: socket.socket) -> None:
        file = connection.makefile("rb")
        nonce = bytes(secrets.choice(range(1, 128)) for _ in range(20))
        _send(connection, 0, _greeting(nonce))
        number, answer = _receive(file)
        name, _, rest = answer[32:].partition(b"\0")
        if name != user.encode() or rest[1 : 1 + rest[0]] != _proof(password.encode(), nonce):
            _send(connection, number + 1, b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied")
            return
        _send(connection, number + 1, _fine())
        while (asked := _receive(file)[1]) and asked[0] != QUIT:
            rows = [_fine()]
            if asked[0] == QUERY and asked[1:].lower().startswith(b"select"):
                rows = [b"\x01", _column(b"said"), END, _text(b"answer to " + asked[1:]), END]
            for order, packet in enumerate(rows, 1):
                _send(connection, order, packet)

    return serve


def _greeting(nonce: bytes) -> bytes:
    low, high = CAPABILITIES & 0xFFFF, CAPABILITIES >> 16
    head = b"\x0a8.0.36\0" + struct.pack("<I", 7) + nonce[:8] + b"\0"
    about = struct.pack("<HBHHB", low, UTF8MB4, AUTOCOMMIT, high, len(nonce) + 1)
    return head + about + bytes(10) + nonce[8:] + b"\0" + PLUGIN + b"\0"


def _proof(password: bytes, nonce: bytes) -> bytes:
    """SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))), as the client computes it."""
    once = hashlib.sha1(password).digest()
    mask = hashlib.sha1(nonce + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, mask, strict=True))


def _fine() -> bytes:
    return struct.pack("<BBBHH", 0, 0, 0, AUTOCOMMIT, 0)


def _column(name: bytes) -> bytes:
    about = struct.pack("<BHIBHBH", 12, UTF8MB4, 255, VAR_STRING, 0, 0, 0)
    return b"".join(map(_text, (b"def", b"", b"", b"", name, name))) + about


def _text(value: bytes) -> bytes:
    if len(value) > 250:
        raise ValueError("longer than a length of one byte says")
    return bytes([len(value)]) + value


def _send(connection: socket.socket, number: int, payload: bytes) -> None:
    connection.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)


def _receive(file: BufferedReader) -> tuple[int, bytes]:
    head = file.read(4)
    if len(head) < 4:
        return 0, b""
    return head[3], file.read(int.from_bytes(head[:3], "little"))
