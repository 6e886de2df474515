"""A mediator that judges nothing: it answers on the gateway's sockets and notes what the agent tried.

TCP gets one greeting with the address that was meant; a DNS name below `.allowed.test` gets an address, every
other NXDOMAIN; packets are noted by protocol and destination.
"""

import contextlib
import select
import socket
import struct
import threading
from typing import Final

from dnslib import QTYPE, RR, A, DNSRecord

from launcher.plan import Sockets

SO_ORIGINAL_DST: Final = 80
ANSWER: Final = "198.18.0.7"
NXDOMAIN: Final = 3


class FakeGateway:
    """Serves until `stop`; `seen` is then complete."""

    def __init__(self, sockets: Sockets) -> None:
        self.seen: list[tuple[str, str, int]] = []
        self._sockets = sockets
        self._stop_read, self._stop_write = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        sources = [*(getattr(self._sockets, name) for name in ("tcp4", "tcp6", "udp4", "udp6", "packets"))]
        while True:
            ready, _, _ = select.select([self._stop_read, *sources], [], [])
            for source in ready:
                if source in (self._sockets.tcp4, self._sockets.tcp6):
                    self._accept(source)
                elif source in (self._sockets.udp4, self._sockets.udp6):
                    self._answer(source)
                elif source is self._sockets.packets:
                    with contextlib.suppress(OSError):  # ENETDOWN once: the agent's namespace has ended
                        self._note(source.recv(512))
            if ready == [self._stop_read]:
                return

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        if listener.family == socket.AF_INET:
            data = connection.getsockopt(socket.IPPROTO_IP, SO_ORIGINAL_DST, 16)
            port, host = struct.unpack("!2xH4s8x", data)
            meant = socket.inet_ntop(socket.AF_INET, host)
        else:
            data = connection.getsockopt(socket.IPPROTO_IPV6, SO_ORIGINAL_DST, 28)
            port, host = struct.unpack("!2xH4x16s4x", data)
            meant = socket.inet_ntop(socket.AF_INET6, host)
        self.seen.append(("tcp", meant, port))
        with connection, contextlib.suppress(OSError):
            connection.sendall(f"gateway {meant} {port}\n".encode())

    def _answer(self, resolver: socket.socket) -> None:
        data, sender = resolver.recvfrom(4096)
        query = DNSRecord.parse(data)
        name = str(query.q.qname).rstrip(".")
        self.seen.append(("dns", name, query.q.qtype))
        reply = query.reply()
        if not name.endswith(".allowed.test"):
            reply.header.rcode = NXDOMAIN
        elif query.q.qtype == QTYPE.A:
            reply.add_answer(RR(query.q.qname, QTYPE.A, rdata=A(ANSWER), ttl=1))
        resolver.sendto(reply.pack(), sender)

    def _note(self, frame: bytes) -> None:
        kind = struct.unpack_from("!H", frame, 12)[0]
        if kind == 0x0800 and len(frame) >= 38:
            protocol, host, port = frame[23], frame[30:34], struct.unpack_from("!H", frame, 36)[0]
            self.seen.append((f"ip{protocol}", socket.inet_ntop(socket.AF_INET, host), port))
        elif kind == 0x86DD and len(frame) >= 58:
            protocol, host, port = frame[20], frame[38:54], struct.unpack_from("!H", frame, 56)[0]
            self.seen.append((f"ip{protocol}", socket.inet_ntop(socket.AF_INET6, host), port))

    def stop(self) -> list[tuple[str, str, int]]:
        """Stop after what has already arrived has been served."""
        self._stop_write.close()
        self._thread.join(60)
        self._stop_read.close()
        return self.seen
