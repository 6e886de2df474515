"""A server that speaks enough of PostgreSQL's protocol 3.0 for a real client: every query gets one row."""

import socket
import struct

SSL_REQUEST = 80877103


def serve(connection: socket.socket) -> None:
    """Serve one connection."""
    file = connection.makefile("rb")
    size, code = struct.unpack("!ii", file.read(8))
    if code == SSL_REQUEST:
        connection.sendall(b"N")
        size, code = struct.unpack("!ii", file.read(8))
    file.read(size - 8)
    settings = b"".join(
        _message(b"S", name + b"\0" + value + b"\0")
        for name, value in ((b"server_version", b"15.0"), (b"client_encoding", b"UTF8"))
    )
    ready = _message(b"Z", b"I")
    connection.sendall(_message(b"R", struct.pack("!i", 0)) + settings + ready)
    while kind := file.read(1):
        (size,) = struct.unpack("!i", file.read(4))
        body = file.read(size - 4)
        if kind == b"X":
            return
        if kind == b"Q":
            connection.sendall(_row(b"answer to " + body.rstrip(b"\0")) + ready)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _row(value: bytes) -> bytes:
    column = b"said\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)
    return (
        _message(b"T", struct.pack("!h", 1) + column)
        + _message(b"D", struct.pack("!hi", 1, len(value)) + value)
        + _message(b"C", b"SELECT 1\0")
    )
