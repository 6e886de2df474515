"""A connection's two streams, and how it is ended so that nobody takes it for complete."""

import asyncio
import contextlib
import socket
import struct
from typing import Final, NamedTuple

KEEPALIVE_S: Final = 30  # NATs forget a silent connection after some minutes, a model may think for twenty
_KEEPALIVE_PROBES: Final = 6
_NO_LINGER: Final = struct.pack("ii", 1, 0)


class Streams(NamedTuple):
    """One connection, both ways."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def keep_alive(transport: asyncio.WriteTransport) -> None:
    """Let the kernel show what lies between us and the server that a silent connection is still one."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):  # already gone
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)


def no_linger(transport: asyncio.WriteTransport) -> None:
    """Let the coming close be a reset."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):  # already gone
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)


def reset(transport: asyncio.WriteTransport) -> None:
    """End a connection now, with a reset."""
    no_linger(transport)
    transport.abort()
