"""Upstreams dialled through a real CONNECT proxy: verified end to end, failures in words, no secret told."""

import asyncio
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hark.bundle.events import LlmResponseEnd, TunnelData
from hark.errors import UpstreamError
from hark.policy.model import Address, Rule, Speaks
from mediator import dial
from mediator.authority import Destination
from mediator.dial import Dialler, UpstreamTrust
from mediator.proxy import Proxies, Proxy, read_proxies
from mediator.transport import Streams
from tests.fakes.connect import ConnectProxy, connect_proxy
from tests.fakes.raw import echo, raw_server
from tests.fakes.upstream import serving
from tests.mediator.rig import API, running
from tests.support.waiting import until

TARGET = Destination(API, 443)
PASSWORD = "pr0xy-pass/word"
USER = {True: "https", False: "http"}


def proxies_of(proxy: ConnectProxy, *, tls: bool = False, user: str = "") -> Proxies:
    host = f"127.0.0.1:{proxy.port}"
    return read_proxies({"ALL_PROXY": f"{USER[tls]}://{user}{host}"})


def asked(dialler: Dialler, target: Destination = TARGET, *, tls: bool = True, raw: bool = False) -> bytes:
    """Dial once, ask for / in HTTP/1.1 and return the answer."""

    async def once() -> bytes:
        streams = await dialler.dial(target, tls=tls, h2=False, raw=raw)
        try:
            streams.writer.write(f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
            return await asyncio.wait_for(streams.reader.read(), 10)
        finally:
            streams.writer.transport.abort()
            await asyncio.sleep(0)

    return asyncio.run(once())


@pytest.fixture(autouse=True)
def no_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is dialled through a proxy is not resolved here."""

    def never(target: Destination) -> None:
        raise AssertionError(f"{target} was resolved")

    monkeypatch.setattr(dial, "_ask", never)


@pytest.mark.parametrize("proxy_tls", [False, True])
@pytest.mark.parametrize("tls", [False, True])
def test_a_target_is_reached_through_either_kind_of_proxy(proxy_tls: bool, tls: bool) -> None:
    with connect_proxy(tls=proxy_tls) as proxy, serving(API, tls=tls) as upstream:
        proxy.places[f"{API}:443"] = ("127.0.0.1", upstream.port)
        trust = UpstreamTrust(upstream.ca_pem, proxy.ca_pem)
        dialler = Dialler({}, trust, proxies=proxies_of(proxy, tls=proxy_tls))
        assert asked(dialler, tls=tls).endswith(b"GET / 0")
        (head,) = proxy.asked
        assert head == f"CONNECT {API}:443 HTTP/1.1\r\nHost: {API}:443\r\n\r\n".encode()


def test_the_control_without_the_proxy_the_name_would_be_resolved_here() -> None:
    with pytest.raises(AssertionError, match="was resolved"):
        asked(Dialler({}, UpstreamTrust()))


def test_the_credential_goes_to_the_proxy() -> None:
    with connect_proxy() as proxy, serving(API) as upstream:
        proxy.places[f"{API}:443"] = ("127.0.0.1", upstream.port)
        proxy.wanted = b"Basic bWU6cHIweHktcGFzcy93b3Jk"
        proxies = proxies_of(proxy, user="me:pr0xy-pass%2Fword@")
        assert asked(Dialler({}, UpstreamTrust(upstream.ca_pem), proxies=proxies)).endswith(b"GET / 0")


def _answers(data: bytes) -> Callable[[ConnectProxy], None]:
    def change(proxy: ConnectProxy) -> None:
        proxy.answer = data

    return change


def _wants_password(proxy: ConnectProxy) -> None:
    proxy.wanted = b"Basic other"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_wants_password, "refuses with status 407: it wants a user and a password"),
        (
            _answers(b"HTTP/1.1 403 pr0xy-pass/word\r\n\r\n"),
            "403: it does not allow this host and port",
        ),
        (_answers(b"HTTP/1.0 502 \r\n\r\n"), "status 502: it cannot reach this host"),
        (_answers(b"HTTP/1.1 418 x\r\n\r\n"), "refuses with status 418$"),
        (_answers(b"SSH-2.0-x\r\n\r\n"), "does not answer as a proxy does"),
        (_answers(b"HTTP/1.1 2000 x\r\n\r\n"), "does not answer as a proxy does"),
        (_answers(b""), "it closed the connection"),
        (_answers(b"x" * 100_000), "its answer is too long"),
        (_answers(b"HTTP/1.1 200 x\r\n\r\n\x16\x03\x03injected"), "it sent something before TLS began"),
    ],
)
def test_a_proxy_that_fails_is_told_of_in_words(change: Callable[[ConnectProxy], None], words: str) -> None:
    with connect_proxy() as proxy:
        change(proxy)
        dialler = Dialler({}, UpstreamTrust(), proxies=proxies_of(proxy, user="me:pr0xy-pass%2Fword@"))
        with pytest.raises(UpstreamError, match=words) as raised:
            asked(dialler)
        assert f"{API}:443 cannot be reached through the proxy http://127.0.0.1:{proxy.port}" in str(
            raised.value
        )
        assert "pr0xy-pass" not in str(raised.value)


def test_a_proxy_that_is_not_there_is_told_of_in_words() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = Proxy("127.0.0.1", unused.getsockname()[1], tls=False)
        with pytest.raises(UpstreamError, match=r"through the proxy http://127.*: connection refused"):
            asked(Dialler({}, UpstreamTrust(), proxies=Proxies(dead, dead)))


@pytest.mark.parametrize("trusted", ["neither", "proxy"])
def test_neither_certificate_is_taken_on_trust(trusted: str) -> None:
    with connect_proxy(tls=True) as proxy, serving(API) as upstream:
        proxy.places[f"{API}:443"] = ("127.0.0.1", upstream.port)
        trust = UpstreamTrust(proxy.ca_pem if trusted == "proxy" else b"")
        with pytest.raises(UpstreamError, match=f"the certificate of {API}.* does not verify"):
            asked(Dialler({}, trust, proxies=proxies_of(proxy, tls=True)))
        assert bool(proxy.asked) is (trusted == "proxy")
        assert upstream.seen == []


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "localhost", "a.localhost", "::1"])
def test_the_proxy_is_not_asked_for_its_own_machine(host: str) -> None:
    with connect_proxy() as proxy:
        with pytest.raises(UpstreamError, match="is not asked of a proxy"):
            asked(Dialler({}, UpstreamTrust(), proxies=proxies_of(proxy)), Destination(host, 443))
        assert proxy.asked == []


def test_an_address_that_the_operator_named_is_dialled_directly() -> None:
    with connect_proxy() as proxy, serving(API) as upstream:
        here = Address("127.0.0.1", upstream.port)
        dialler = Dialler({}, UpstreamTrust(upstream.ca_pem), lambda _: here, proxies_of(proxy))
        assert asked(dialler).endswith(b"GET / 0")
        assert proxy.asked == []


def test_what_a_server_says_first_comes_through_with_the_proxys_answer() -> None:
    with connect_proxy() as proxy:
        proxy.answer = b"HTTP/1.1 200 x\r\n\r\n220 ready\r\n"

        async def greeting() -> bytes:
            streams: Streams = await Dialler({}, UpstreamTrust(), proxies=proxies_of(proxy)).dial(
                TARGET, tls=False, h2=False, raw=True
            )
            streams.writer.transport.abort()
            return await streams.reader.readline()

        assert asyncio.run(greeting()) == b"220 ready\r\n"


def test_a_request_of_the_agents_goes_through_and_the_credential_stays_off_the_record() -> None:
    with connect_proxy() as proxy, serving(API) as upstream:
        proxy.places[f"{API}:443"] = ("127.0.0.1", upstream.port)
        proxies = proxies_of(proxy, user=f"me:{PASSWORD.replace('/', '%2F')}@")
        with running(API, roots=upstream.ca_pem, proxies=proxies) as rig:
            with rig.https() as client:
                client.request("GET", "/")
                assert client.getresponse().read() == b"GET / 0"
            rig.recorder.wait_for(LlmResponseEnd)
            assert PASSWORD.encode() not in rig.recorder.bytes()
        assert b"Proxy-Authorization: Basic " in proxy.asked[0]


def test_raw_tcp_goes_through_too() -> None:
    with connect_proxy() as proxy, raw_server(echo) as server:
        proxy.places[f"{API}:5432"] = ("127.0.0.1", server.port)
        rules = (Rule(API, (5432,), "db", Speaks.TCP),)
        with running(rules=rules, proxies=proxies_of(proxy)) as rig, rig.dial(rig.address(API), 5432) as sock:
            sock.sendall(b"\0ping")
            assert sock.recv(100) == b"\0ping"
            rig.recorder.wait_for(TunnelData, 3)


def test_an_agent_that_has_said_all_in_raw_tcp_through_a_proxy_that_speaks_tls_still_hears_the_answer() -> (
    None
):
    def slow(sock: socket.socket) -> None:
        assert sock.recv(100) == b"\0ping"
        assert said_all.wait(60)
        sock.sendall(b"pong")

    said_all = threading.Event()
    with connect_proxy(tls=True) as proxy, raw_server(slow) as server:
        proxy.places[f"{API}:5432"] = ("127.0.0.1", server.port)
        rules = (Rule(API, (5432,), "db", Speaks.TCP),)
        proxies = proxies_of(proxy, tls=True)
        with (
            running(rules=rules, roots=proxy.ca_pem, proxies=proxies) as rig,
            rig.dial(rig.address(API), 5432) as sock,
        ):
            sock.sendall(b"\0ping")
            sock.shutdown(socket.SHUT_WR)
            until(lambda: any(event.end for event in rig.recorder.of(TunnelData)))
            said_all.set()
            assert sock.recv(100) == b"pong"
    assert rig.fatal == []


ADDON = """
def server_connect(data):
    data.server.address = ("127.0.0.1", {port})
"""


@pytest.mark.slow
def test_mitmdump_as_a_companys_tls_proxy(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "mitmdump"
    with socket.socket() as chosen, serving(API) as upstream:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
        chosen.close()
        (tmp_path / "addon.py").write_text(ADDON.format(port=upstream.port))
        command = [program, "-q", "--listen-host=127.0.0.1", f"--listen-port={port}", "--ssl-insecure"]
        command += [
            "--proxyauth=me:pr0xy-pass",
            f"--set=confdir={tmp_path}",
            f"--scripts={tmp_path}/addon.py",
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as mitmdump:
            try:
                until(lambda: _listens(port), "the proxy to start", patience=60)
                roots = (tmp_path / "mitmproxy-ca-cert.pem").read_bytes()
                good = read_proxies({"HTTPS_PROXY": f"http://me:pr0xy-pass@127.0.0.1:{port}"})
                assert asked(Dialler({}, UpstreamTrust(roots), proxies=good)).endswith(b"GET / 0")
                bad = read_proxies({"HTTPS_PROXY": f"http://me:wrong@127.0.0.1:{port}"})
                with pytest.raises(UpstreamError, match="status 407"):
                    asked(Dialler({}, UpstreamTrust(roots), proxies=bad))
            finally:
                mitmdump.terminate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def test_the_contexts_of_proxy_and_target_are_both_verifying() -> None:
    trust = UpstreamTrust()
    assert trust.context(h2=False).verify_mode is ssl.CERT_REQUIRED
    assert trust.context(h2=False).check_hostname
