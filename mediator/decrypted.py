"""How what comes through TLS from a server is read: into one buffer, and not a new one for each record.

asyncio asks for a quarter of a megabyte with each read, of which a record fills sixteen kilobytes at most,
and reads once more, for an exception that says that nothing is left. Here the buffer that what is encrypted
came in, which is free by then, takes what is decrypted, and OpenSSL is asked whether it has more.

Always: the same bytes in the same order, and the same end. Where asyncio is built otherwise one day, its own
way is taken.
"""

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Callable
from typing import Any, Final

_AGAIN: Final = (ssl.SSLWantReadError, ssl.SSLSyscallError)  # as asyncio has it


class Decrypted(sslproto.SSLProtocol):
    """asyncio's TLS over a transport, once its handshake is done."""

    _ssl_buffer_view: memoryview
    _incoming: Any
    _sslobj: Any
    _app_protocol: Any
    _call_eof_received: Callable[[], None]

    def _do_read__copied(self) -> None:
        """Read all that there is and hand it on. An empty read is the other side's goodbye."""
        view, incoming, tls = self._ssl_buffer_view, self._incoming, self._sslobj
        size, at, count = len(view), 0, 1
        try:
            while count and at < size:
                count = tls.read(size - at, view[at:])
                at += count
                if not incoming.pending and not tls.pending():
                    break
        except _AGAIN:
            pass
        if at:
            self._app_protocol.data_received(bytes(view[:at]))
        if not count:
            self._call_eof_received()
            self._start_shutdown()
        elif at == size:
            self._do_read__copied()


def by_buffer(transport: asyncio.BaseTransport) -> None:
    """Have what comes through a transport read so, if it goes through asyncio's TLS."""
    protocol = getattr(transport, "_ssl_protocol", None)
    if type(protocol) is sslproto.SSLProtocol and hasattr(protocol, "_do_read__copied"):
        protocol.__class__ = Decrypted
