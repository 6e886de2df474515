"""A mediator on loopback sockets, reached as an agent reaches it. `Origins` plays the kernel's part."""

import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dnslib import QTYPE, DNSRecord

from hark.bundle.events import PolicyLoaded
from hark.policy.model import DEFAULT_SURFACES, HostRule, Policy, Rule, Secret, Surface
from launcher.plan import Sockets
from mediator.authority import Destination
from mediator.branching import Ahead, InForce
from mediator.ca import RunCA
from mediator.config import MediatorConfig
from mediator.credentials import Broker
from mediator.ledger import Ledger
from mediator.link import Link
from mediator.mcp.program import Program
from mediator.origin import Accepted
from mediator.playback.playback import Playback
from mediator.proxy import Proxies
from mediator.publish import Opened
from mediator.serve import Mediator
from mediator.standing import Standing
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import Upstream, serving

API = "api.example.test"
OTHER = "other.example.test"
API_TARGET = Destination(API, 443)
VALUE = "sk-real-5e884898da280471"
PLACEHOLDER = "sk-harkAbCdEfGhIjKlMnOpQrStUv"


class Origins:
    """Stands for the kernel's connection tracking: what each local port dialled."""

    def __init__(self) -> None:
        self.by_port: dict[int, tuple[str, int]] = {}
        self.default: tuple[str, int] | None = None
        self.asked = 0
        """How many connections were accepted."""

    def __call__(self, accepted: Accepted) -> tuple[str, int]:
        """Return what was dialled."""
        self.asked += 1
        port = accepted.getpeername()[1]  # type: ignore[attr-defined]
        found = self.by_port.get(port, self.default)
        if found is None:
            raise OSError("not redirected")
        return found


@dataclass
class Rig:
    """A running mediator and how to reach it as the agent does."""

    mediator: Mediator
    recorder: ListRecorder
    ca: RunCA
    origins: Origins
    sockets: Sockets
    roots: bytes
    tcp: tuple[str, int]
    udp: tuple[str, int]
    packets: tuple[str, int]
    fatal: list[str] = field(default_factory=list)

    def ask(self, name: str, kind: str = "A") -> DNSRecord:
        """Ask the resolver over UDP."""
        return DNSRecord.parse(self.ask_raw(DNSRecord.question(name, kind).pack()))

    def ask_raw(self, wire: bytes, seconds: float = 60.0) -> bytes:
        """Send one datagram and return the reply."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(seconds)
            sock.sendto(wire, self.udp)
            return sock.recv(4096)

    def address(self, name: str) -> str:
        """Return the synthetic address of an allowed name."""
        return str(self.ask(name).rr[0].rdata)

    def dial(self, address: str, port: int = 443) -> socket.socket:
        """Connect as the agent would to an address and port."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.settimeout(60)
        sock.bind(("127.0.0.1", 0))
        self.origins.by_port[sock.getsockname()[1]] = (address, port)
        try:
            sock.connect(self.tcp)
        except OSError:
            sock.close()
            raise
        return sock

    def context(self, *alpn: str) -> ssl.SSLContext:
        """Return what an agent's program trusts."""
        context = ssl.create_default_context(cadata=self.ca.trust_bundle(self.roots).decode())
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context

    def tls(self, host: str, port: int = 443, sni: str | None = None, *alpn: str) -> ssl.SSLSocket:
        """Connect and shake hands as the agent would."""
        sock = self.dial(self.address(host), port)
        try:
            return self.context(*alpn).wrap_socket(sock, server_hostname=sni or host)
        except BaseException:
            sock.close()
            raise

    @contextmanager
    def https(self, host: str = API, port: int = 443) -> Iterator[http.client.HTTPConnection]:
        """Give a kept-alive HTTPS client."""
        connection = http.client.HTTPConnection(host, port, timeout=60)
        connection.sock = self.tls(host, port)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def http(self, host: str = API, port: int = 80) -> Iterator[http.client.HTTPConnection]:
        """Give a kept-alive client without TLS."""
        connection = http.client.HTTPConnection(host, port, timeout=60)
        connection.sock = self.dial(self.address(host), port)
        try:
            yield connection
        finally:
            connection.close()


@contextmanager
def running(
    *allow: str,
    upstreams: Mapping[str, str] | None = None,
    roots: bytes = b"",
    secrets: tuple[Secret, ...] = (),
    recorder: ListRecorder | None = None,
    policy: Policy | None = None,
    rules: tuple[Rule, ...] = (),
    proxies: Proxies | None = None,
    mcp: tuple[Program, ...] = (),
    published: Opened | None = None,
    playback: Playback | None = None,
    changes: Mapping[int, tuple[Policy, PolicyLoaded]] | None = None,
    ahead: Ahead | None = None,
    branches: Mapping[int, InForce] | None = None,
) -> Iterator[Rig]:
    """Run a mediator that allows `allow` and what `rules` say, or under `policy`."""
    recorder = recorder or ListRecorder()
    hosts = tuple(HostRule.parse(text) for text in allow)
    policy = policy or Policy(source="test", allow_hosts=hosts, allow=rules)
    config = MediatorConfig(
        policy=policy,
        secrets=secrets,
        upstreams=upstreams or {},
        upstream_roots=(roots,),
        proxies=proxies,
        mcp=mcp,
        playback=playback,
        changes=changes or {},
        ahead=ahead,
        branches=branches or {},
    )
    with ExitStack() as stack:
        sockets = loopback_sockets()
        for sock in (sockets.tcp4, sockets.tcp6, sockets.udp4, sockets.udp6, sockets.packets):
            stack.callback(sock.close)
        origins = Origins()
        fatal: list[str] = []
        ca = RunCA.create(datetime.now(UTC))
        mediator = Mediator(config, sockets, recorder, ca, fatal.append, origin=origins, published=published)
        rig = Rig(
            mediator=mediator,
            recorder=recorder,
            ca=ca,
            origins=origins,
            sockets=sockets,
            roots=roots,
            tcp=sockets.tcp4.getsockname(),
            udp=sockets.udp4.getsockname(),
            packets=sockets.packets.getsockname(),
            fatal=fatal,
        )
        mediator.start()
        stack.callback(mediator.stop)
        yield rig


@contextmanager
def pair(*allow: str, **more: object) -> Iterator[tuple[Rig, Upstream]]:
    """A mediator that allows the API over TLS, and its server."""
    with (
        serving(API) as upstream,
        running(
            API,
            *allow,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            **more,  # type: ignore[arg-type]
        ) as rig,
    ):
        yield rig, upstream


@contextmanager
def plain(**more: object) -> Iterator[tuple[Rig, Upstream]]:
    """The same without TLS on port 80."""
    with (
        serving(API, tls=False) as upstream,
        running(f"{API}:80", upstreams={API: upstream.address}, **more) as rig,  # type: ignore[arg-type]
    ):
        yield rig, upstream


def raw(sock: socket.socket, data: bytes) -> bytes:
    """Send and read until the other side closes."""
    if data:
        sock.sendall(data)
    got = bytearray()
    try:
        while piece := sock.recv(65536):
            got += piece
    except ConnectionResetError:
        got += b"<reset>"
    return bytes(got)


@contextmanager
def served(*names: str) -> Iterator[tuple[Rig, Upstream]]:
    """Run a mediator that allows the API over TLS, beside its server."""
    with (
        serving(API) as upstream,
        running(API, *names, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        yield rig, upstream


def loopback_sockets() -> Sockets:
    """Return sockets as the launcher gives them, on loopback; datagrams stand for frames."""
    return Sockets(
        tcp4=_listener(socket.AF_INET, "127.0.0.1"),
        tcp6=_listener(socket.AF_INET6, "::1"),
        udp4=_bound(socket.AF_INET, "127.0.0.1"),
        udp6=_bound(socket.AF_INET6, "::1"),
        packets=_bound(socket.AF_INET6, "::1"),
    )


def secret(
    value: str,
    *hosts: str,
    name: str = "API_KEY",
    placeholder: str = PLACEHOLDER,
    surfaces: tuple[Surface, ...] = DEFAULT_SURFACES,
) -> Secret:
    """Return a secret bound to hosts."""
    return Secret(name, value, placeholder, tuple(HostRule.parse(host) for host in hosts), surfaces)


def link_to(target: Destination = API_TARGET) -> Link:
    """Return a connection to an allowed target, with a credential for it, that nothing is behind."""
    policy = Policy(allow_hosts=(HostRule(target.host, target.port),))
    book = Ledger(ListRecorder(), lambda _: None, lambda: 0.0)
    broker = Broker([secret(VALUE, str(target))])
    return Link(target, True, None, Standing(policy), broker, book, lambda: 0)


def names(record: DNSRecord) -> list[str]:
    """Return the answers of a reply as `TYPE value`."""
    return [f"{QTYPE[rr.rtype]} {rr.rdata}" for rr in record.rr]


def _listener(family: socket.AddressFamily, address: str) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind((address, 0))
    sock.listen(128)
    return sock


def _bound(family: socket.AddressFamily, address: str) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_DGRAM, socket.IPPROTO_UDP)
    sock.bind((address, 0))
    return sock
