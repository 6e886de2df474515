"""Turns what Python's sockets reach for to the attendant: connections, names, and whose certificates count.

Always: a connection is told to the attendant, with the address that was meant, before it is made; so the
attendant judges and records it as that of any agent. A connection to what the process itself serves on its
loopback is its own, and it serves nowhere else. TLS contexts trust the run's authority from their first use
on, whoever made them and when; its key is gone with the attendant. `undo` gives back all that was changed.

Not done here: refusing what goes another way (`hark.inprocess.guard`).
"""

import _posixsubprocess
import socket
import ssl
import sys
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from hark.inprocess import guard as guarding
from hark.inprocess import names, own
from hark.inprocess.guard import Guard, Over, passing, shown

LOOPBACK: Final = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
ANSWER_S: Final = 60.0  # an answer may wait for its turn in a replay; a stall ends the run sooner
_LOCAL: Final = ("localhost", "localhost.localdomain")
_UVLOOP: Final = ("create_connection", "create_unix_connection", "create_datagram_endpoint", "getaddrinfo")
_Socket: Final = socket.socket
"""The class itself: others may have put their own under its name."""

type Dial = Callable[[int, int, str, int], None]
"""MUST tell the attendant that a local port of this family means an address and port. Raises Over."""


class Redirection:
    """One test's. `apply`, then `undo`."""

    def __init__(self, guard: Guard, dial: Dial, ports: dict[int, int], authority: str) -> None:
        """`ports` are the attendant's, by family; `authority` is the run's, as PEM."""
        self._guard = guard
        self._dial = dial
        self._ports = ports
        self._authority = authority
        self._changed: list[tuple[Any, str, Any]] = []
        self._lookup = socket.getaddrinfo

    def apply(self) -> None:
        """Begin."""
        for name in ("connect", "connect_ex"):
            self._replace(_Socket, name, self._connecting(getattr(_Socket, name)))
        self._replace(_Socket, "bind", self._binding(_Socket.bind))
        self._replace(_Socket, "listen", self._listening(_Socket.listen))
        self._replace(socket, "getaddrinfo", self.getaddrinfo)
        self._replace(socket, "gethostbyname", self._gethostbyname)
        self._replace(socket, "gethostbyname_ex", self._gethostbyname_ex)
        self._replace(socket, "gethostbyaddr", _gethostbyaddr)
        for name in ("wrap_socket", "wrap_bio"):
            self._replace(ssl.SSLContext, name, self._trusting(getattr(ssl.SSLContext, name)))
        # subprocess has its own name for it, and an audit event; multiprocessing has neither.
        self._replace(_posixsubprocess, "fork_exec", self._refusing("a program that multiprocessing starts"))
        self._refuse_uvloop()

    def undo(self) -> None:
        """Give back what was changed."""
        while self._changed:
            owner, name, before = self._changed.pop()
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def _replace(self, owner: Any, name: str, now: Any) -> None:
        self._changed.append((owner, name, vars(owner).get(name)))
        setattr(owner, name, now)

    def _refusing(self, what: str) -> Callable[..., Any]:
        def refuse(*_arguments: Any, **_named: Any) -> Any:
            raise self._guard.refuse(f"{what} is not recorded")

        return refuse

    def _refuse_uvloop(self) -> None:
        """Its connections are libuv's, which no Python socket sees."""
        loop = getattr(sys.modules.get("uvloop"), "Loop", None)
        if loop is not None:
            for name in _UVLOOP:
                self._replace(
                    loop, name, self._refusing(f"{name} of uvloop, which passes Python's sockets by,")
                )

    def _connecting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def connect(sock: socket.socket, address: Any) -> Any:
            if guarding.active() is not self._guard:
                return original(sock, address)
            self._guard.check_process()
            try:
                with passing():
                    return original(sock, self._target(sock, address))
            except Over:
                sock.close()  # whoever made it expects errors alone, and would leave it open
                raise

        return connect

    def _binding(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Have what is bound to all addresses bound to the loopback: nobody else is to ask the test."""

        def bind(sock: socket.socket, address: Any) -> Any:
            here = LOOPBACK.get(sock.family)
            if guarding.active() is self._guard and here and isinstance(address, tuple) and address:
                host = str(address[0])
                if not host or (names.is_numeric(host) and own.is_unspecified(host)):
                    return original(sock, (here, *address[1:]))
            return original(sock, address)

        return bind

    def _listening(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Have what listens without an address listen at the loopback."""

        def listen(sock: socket.socket, *arguments: Any) -> Any:
            here = LOOPBACK.get(sock.family)
            if guarding.active() is self._guard and here and not sock.getsockname()[1]:
                sock.bind((here, 0))
            return original(sock, *arguments)

        return listen

    def _target(self, sock: socket.socket, address: Any) -> Any:
        """Return where a socket is to connect in place of `address`. Raises Refused, Over."""
        if sock.family not in self._ports or not isinstance(address, tuple):
            raise self._guard.refuse(f"a connection to {shown(address)}, which is no address of a network")
        host, port = str(address[0]) or "0.0.0.0", int(address[1])  # noqa: S104  (what C makes of it)
        if not names.is_numeric(host):
            host = self.getaddrinfo(host, port, sock.family)[0][4][0]
        datagrams = bool(sock.type & socket.SOCK_DGRAM)
        if own.is_loopback(host) and own.serves(host, port, "udp" if datagrams else "tcp"):
            return (host, *address[1:])
        if datagrams:
            raise self._guard.refuse(f"datagrams to {host}:{port}, which are not recorded")
        return self._attendants(sock, host, port)

    def _attendants(self, sock: socket.socket, host: str, port: int) -> tuple[str, int]:
        ours = LOOPBACK[sock.family]
        if not self._ports[sock.family]:
            raise self._guard.refuse(f"a connection to {host}:{port}, since this machine has no {ours}")
        if not sock.getsockname()[1]:
            sock.bind((ours, 0))
        self._dial(sock.family, sock.getsockname()[1], _plain(host), port)
        return ours, self._ports[sock.family]

    def getaddrinfo(  # noqa: PLR0917  (those of the original)
        self,
        host: Any,
        port: Any,
        family: int = 0,
        type: int = 0,  # noqa: A002  (the names of the original)
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """As of the socket module."""
        with passing():
            found: list[Any] = []
            for address in self._addresses(host, family, flags):
                try:
                    found.extend(self._lookup(address, port, family, type, proto, flags))
                except socket.gaierror:
                    if not found and address is None:
                        raise
            if not found:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return found

    def _addresses(self, host: Any, family: int, flags: int) -> list[Any]:
        """Return what to look up in a host's place: its addresses, or itself where it is one."""
        name = host.decode() if isinstance(host, bytes | bytearray) else host
        if not name or flags & socket.AI_NUMERICHOST or names.is_numeric(name):
            return [name or None]
        if self._is_local(name):
            return [LOOPBACK[one] for one in LOOPBACK if family in {0, one}]
        self._guard.check_process()
        return [*names.look_up(name, family, self._ask)]

    def _is_local(self, name: str) -> bool:
        bare = name.rstrip(".").lower()
        return bare in _LOCAL or bare.endswith(".localhost") or bare == socket.gethostname().lower()

    def _ask(self, query: bytes) -> bytes:
        with _Socket(socket.AF_INET, socket.SOCK_STREAM) as sock, passing():
            sock.settimeout(ANSWER_S)
            sock.bind((LOOPBACK[socket.AF_INET], 0))
            self._dial(socket.AF_INET, sock.getsockname()[1], *names.SERVER)
            super(_Socket, sock).connect((LOOPBACK[socket.AF_INET], self._ports[socket.AF_INET]))
            sock.sendall(len(query).to_bytes(2) + query)
            with sock.makefile("rb") as stream:
                size = int.from_bytes(stream.read(2))
                reply = stream.read(size)
        if not size or len(reply) < size:
            raise OSError("no answer")
        return reply

    def _gethostbyname(self, host: str) -> str:
        return str(self.getaddrinfo(host, 0, socket.AF_INET)[0][4][0])

    def _gethostbyname_ex(self, host: str) -> tuple[str, list[str], list[str]]:
        found = self.getaddrinfo(host, 0, socket.AF_INET, socket.SOCK_STREAM)
        return host, [], [str(one[4][0]) for one in found]

    def _trusting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrap(context: ssl.SSLContext, *arguments: Any, **named: Any) -> Any:
            if context.verify_mode is not ssl.CERT_NONE and context.protocol != ssl.PROTOCOL_TLS_SERVER:
                context.load_verify_locations(cadata=self._authority)
            return original(context, *arguments, **named)

        return wrap


def _plain(host: str) -> str:
    """Return an address as the attendant meets it: without a zone, and version 4 as that."""
    found = ip_address(host.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(found if mapped is None else mapped)


def _gethostbyaddr(_host: str) -> Any:
    """Say of every address that it has no name: who asks goes on with the address."""
    raise socket.herror(1, "Unknown host")
