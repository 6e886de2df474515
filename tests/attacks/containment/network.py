"""Traps 1 and 2: services of the host, and protocols that are dropped in silence or pass unrecorded."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from launcher import network
from tests.attacks.containment.programs import CALLER, TRY, inside, judge, outside
from tests.attacks.registry import Outcome, Verdict, add, attack
from tests.launcher.rig import python, without

BANNER: Final = b"host-service"
FOREIGN: Final = "198.51.100.7"  # TEST-NET-2: nobody has it
NO_RULES: Final = without(network.ruleset, "install")


def _route_source(family: socket.AddressFamily, target: str) -> list[str]:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((target, 9))
        except OSError:
            return []
        return [probe.getsockname()[0]]


def _link_local() -> list[str]:
    try:
        with open("/proc/net/if_inet6", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return []
    packed = [bytes.fromhex(row[0]) for row in rows if row[3] == "20"]
    return [socket.inet_ntop(socket.AF_INET6, address) for address in packed]


def host_addresses() -> list[str]:
    """Every kind of address at which this host can be reached."""
    return [
        "127.0.0.1",
        "::1",
        *_route_source(socket.AF_INET, "192.0.2.1"),
        *_route_source(socket.AF_INET6, "2001:db8::1"),
        *_link_local(),
    ]


@contextlib.contextmanager
def host_service(kind: socket.SocketKind) -> Iterator[int]:
    """A service on every address of the host that gives its banner to whoever asks."""
    with socket.socket(socket.AF_INET6, kind) as service:
        service.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        service.bind(("::", 0))
        if kind is socket.SOCK_STREAM:
            service.listen(64)
        thread = threading.Thread(target=_serve, args=(service, kind), daemon=True)
        thread.start()
        try:
            yield service.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                service.shutdown(socket.SHUT_RDWR)
            thread.join(2)


def _serve(service: socket.socket, kind: socket.SocketKind) -> None:
    service.settimeout(0.5)
    while service.fileno() >= 0:
        try:
            if kind is socket.SOCK_STREAM:
                connection, _ = service.accept()
                with connection:
                    connection.sendall(BANNER)
            else:
                _, sender = service.recvfrom(64)
                service.sendto(BANNER, sender)
        except TimeoutError:
            continue
        except OSError:
            return


def _program(kind: str, port: int) -> str:
    return f"""
reached = []
for host in {host_addresses()!r}:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        s = socket.socket(family, socket.{kind}); s.settimeout(20)
        s.connect((host, {port})); s.send(b"?")
        if s.recv(64) == {BANNER!r}: reached.append(host); break
    except OSError: pass
print("SUCCEEDED" if reached else "REFUSED", reached)
"""


def _both(kind: socket.SocketKind, name: str) -> None:
    def run(where: Callable[[str], Outcome]) -> Outcome:
        # The service has a thread, so it serves from a process of its own.
        with _service_process(kind) as port:
            return where(_program(kind.name, port))

    add(1, name, lambda: run(inside), lambda: run(outside))


@contextlib.contextmanager
def _service_process(kind: socket.SocketKind) -> Iterator[int]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with host_service(kind) as port:
                os.write(write, str(port).encode())
                signal.pause()
        finally:
            os._exit(0)
    os.close(write)
    try:
        yield int(os.read(read, 16))
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


_both(socket.SOCK_STREAM, "reach a TCP service on any address of the host")
_both(socket.SOCK_DGRAM, "reach a UDP service on any address of the host")

SILENCE: Final = """
import time
s = socket.socket({family}, {kind}); s.settimeout(SECONDS)
try:
    s.connect(({host!r}, {port})); s.send({payload!r}); s.recv(64)
    print("REFUSED answered by the gateway")
except TimeoutError: print("SUCCEEDED in sending without an answer")
except OSError as error: print("REFUSED", error)
"""


def _silent(name: str, host: str, port: int, kind: str, payload: bytes = b"x") -> None:
    family = "socket.AF_INET6" if ":" in host else "socket.AF_INET"
    program = SILENCE.format(family=family, kind=kind, host=host, port=port, payload=payload)
    add(
        2, name,
        lambda: inside(program.replace("SECONDS", "60")),
        lambda: inside(program.replace("SECONDS", "2"), change=NO_RULES),
    )  # fmt: skip


ECHO: Final = bytes([8, 0, 0, 0, 0, 1, 0, 1]) + b"hark"
_silent("QUIC to a literal address is dropped in silence", FOREIGN, 443, "socket.SOCK_DGRAM")
_silent("UDP over IPv6 is dropped in silence", "2001:db8::7", 4433, "socket.SOCK_DGRAM")
_silent("ping is dropped in silence", FOREIGN, 0, "socket.SOCK_DGRAM, 1", ECHO)
_silent("raw TCP to port 9999 is dropped in silence", FOREIGN, 9999, "socket.SOCK_STREAM")
_silent("DNS over TCP is dropped in silence", FOREIGN, 53, "socket.SOCK_STREAM")


def _unrecorded(name: str, host: str, port: int, kind: str, expected: str) -> None:
    family = "socket.AF_INET6" if ":" in host else "socket.AF_INET"
    program = SILENCE.format(family=family, kind=kind, host=host, port=port, payload=b"x")

    def run(**options: Any) -> Outcome:
        result = python(TRY + program.replace("SECONDS", "2" if options else "60"), who=CALLER, **options)
        heard = judge(result)
        if result.error or heard.verdict is Verdict.UNKNOWN:
            return heard
        recorded = (expected, host, port) in result.seen
        return Outcome(Verdict.REFUSED if recorded else Verdict.SUCCEEDED, f"saw {result.seen}")

    add(2, name, run, lambda: run(change=NO_RULES))


_unrecorded("connect to a literal address off the record", FOREIGN, 9999, "socket.SOCK_STREAM", "tcp")
_unrecorded("connect over IPv6 off the record", "2001:db8::7", 443, "socket.SOCK_STREAM", "tcp")


@attack(trap=2, name="send QUIC off the record")
class Quic:
    """What the rules reject leaves no event by itself: the packet socket sees it."""

    PROGRAM = SILENCE.format(
        family="socket.AF_INET", kind="socket.SOCK_DGRAM", host=FOREIGN, port=443, payload=b"x"
    )

    @staticmethod
    def run(**options: Any) -> Outcome:
        result = python(TRY + Quic.PROGRAM.replace("SECONDS", "60"), who=CALLER, **options)
        if judge(result).verdict is Verdict.UNKNOWN:
            return judge(result)
        recorded = ("ip17", FOREIGN, 443) in result.seen
        return Outcome(Verdict.REFUSED if recorded else Verdict.SUCCEEDED, f"saw {result.seen}")

    @staticmethod
    def defended() -> Outcome:
        return Quic.run()

    @staticmethod
    def undefended() -> Outcome:
        # A filter that keeps nothing: the packets are refused all the same, and nobody knows.
        keep_nothing = without(network, "_packet_filter", lambda: b"\x06\0\0\0\0\0\0\0")
        return Quic.run(change=keep_nothing)


@attack(trap=1, name="reach an abstract unix socket of the host")
class AbstractSocket:
    """Abstract names belong to a network namespace."""

    @staticmethod
    def run(where: Callable[[str], Outcome]) -> Outcome:
        with socket.socket(socket.AF_UNIX) as service:
            service.bind("")
            service.listen()
            name = service.getsockname()
            return where(f"s = socket.socket(socket.AF_UNIX)\nattempt(lambda: s.connect({name!r}))\n")

    @staticmethod
    def defended() -> Outcome:
        return AbstractSocket.run(inside)

    @staticmethod
    def undefended() -> Outcome:
        return AbstractSocket.run(outside)
