"""Connections at the gate: each refused at once in the words of its protocol, recorded before that."""

import http.client
import socket
import ssl
import subprocess
import time

import pytest

from hark.bundle.events import DnsDecision, DnsQuery, EgressAttempt, EgressDecision, LlmResponseEnd
from hark.policy.decide import Allow, Deny
from mediator import descriptors, gate
from mediator.authority import Destination
from tests.fakes.upstream import serving
from tests.mediator.rig import API, OTHER, Rig, running
from tests.support.waiting import until

LITERAL = "198.51.100.7"


def refused(rig: Rig, count: int = 1) -> tuple[EgressAttempt, EgressDecision]:
    """Return the last attempt and its decision, which is a durable denial that came after it."""
    decision = rig.recorder.wait_for(EgressDecision, count)[-1]
    attempt = rig.recorder.of(EgressAttempt)[-1]
    assert not decision.allowed
    rig.recorder.wait_durable(decision)
    assert rig.recorder.events.index(attempt) < rig.recorder.events.index(decision)
    return attempt, decision


def read_all(sock: socket.socket) -> bytes:
    got = b""
    try:
        while piece := sock.recv(4096):
            got += piece
    except ConnectionResetError:
        got += b"<reset>"
    return got


def test_http_to_a_literal_address_gets_a_page_with_the_line_that_would_allow_it() -> None:
    with running(API) as rig, rig.dial(LITERAL, 80) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: 198.51.100.7\r\n\r\n")
        page = read_all(sock).decode()
        attempt, decision = refused(rig)
    assert page.startswith("HTTP/1.1 403 Forbidden\r\n")
    assert 'To allow it, add "198.51.100.7:80" to allow_hosts in the policy' in page
    assert attempt == EgressAttempt(host=LITERAL, port=80, protocol="http", sni="")
    assert decision.reason == "address 198.51.100.7 is not in allow_hosts"


def test_tls_to_a_literal_address_gets_an_access_denied_alert() -> None:
    with running(API) as rig, rig.dial(LITERAL) as sock:
        with pytest.raises(ssl.SSLError, match=r"(?i)access.denied"):
            rig.context().wrap_socket(sock, server_hostname=API)
        attempt, _ = refused(rig)
    assert attempt == EgressAttempt(host=LITERAL, port=443, protocol="tls", sni=API)


def test_curl_says_access_denied_at_once() -> None:
    with running(API) as rig:
        rig.origins.default = (LITERAL, 443)
        url = f"https://{OTHER}:{rig.tcp[1]}/"
        where = f"{OTHER}:{rig.tcp[1]}:127.0.0.1"
        done = subprocess.run(
            ["curl", "-sS", "--resolve", where, url], capture_output=True, text=True, check=False, timeout=60
        )
        refused(rig)
    assert done.returncode != 0
    assert "access denied" in done.stderr


def test_an_allowed_literal_address_works() -> None:
    with (
        serving("192.0.2.1") as upstream,
        running("192.0.2.1", upstreams={"192.0.2.1": upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        client = http.client.HTTPConnection("192.0.2.1", 443, timeout=60)
        client.sock = rig.context().wrap_socket(rig.dial("192.0.2.1"), server_hostname="192.0.2.1")
        client.request("GET", "/")
        assert client.getresponse().read() == b"GET / 0"
        client.close()


@pytest.mark.parametrize("sni", [OTHER, "evil.test", "api.example.test.evil.net"])
def test_a_tls_name_other_than_the_dialled_one_is_refused_even_if_allowed(sni: str) -> None:
    with running(API, OTHER) as rig:
        with pytest.raises(ssl.SSLError, match=r"(?i)access.denied"):
            rig.tls(API, 443, sni)
        attempt, decision = refused(rig)
    assert (attempt.host, attempt.sni) == (API, sni)
    assert f"the TLS server name is {sni}" in decision.reason


def test_a_port_that_the_rule_does_not_name_is_refused() -> None:
    with running(API) as rig, rig.dial(rig.address(API), 8443) as sock:
        with pytest.raises(ssl.SSLError, match=r"(?i)access.denied"):
            rig.context().wrap_socket(sock, server_hostname=API)
        _, decision = refused(rig)
    assert decision.reason == f"{API} is allowed on port 443, not on 8443"


@pytest.mark.parametrize(
    ("data", "protocol"),
    [
        (b"\0\0\0\x08\x04\xd2\x16\x2f", "tcp"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "ssh"),
        (b"PRI * HTTP/2.0\r\n", "h2c"),
    ],
)
@pytest.mark.parametrize("where", [LITERAL, API])
def test_an_unknown_protocol_is_reset_and_recorded(data: bytes, protocol: str, where: str) -> None:
    with running(f"{API}:9999") as rig:
        address = rig.address(API) if where == API else where
        with rig.dial(address, 9999) as sock:
            sock.sendall(data)
            assert read_all(sock) == b"<reset>"
        attempt, _ = refused(rig)
    assert attempt == EgressAttempt(host=where, port=9999, protocol=protocol, sni="")


@pytest.mark.parametrize("port", [22, 25, 3306])
def test_a_client_that_waits_for_a_greeting_is_not_left_waiting(port: int) -> None:
    with running(f"{API}:{port}") as rig, rig.dial(rig.address(API), port) as sock:
        assert read_all(sock) == b"<reset>"
        attempt, decision = refused(rig)
    assert (attempt.host, attempt.port, attempt.protocol) == (API, port, "tcp")
    assert (
        f'raw TCP needs [[allow]] host = "{API}", port = {port}, protocol = "tcp" instead' in decision.reason
    )


@pytest.mark.parametrize(
    ("data", "port", "rule", "raw"),
    [
        (b"\0\0\0\x08\x04\xd2\x16\x2f", 5432, "", True),
        (b"", 5432, "", True),
        (b"", 443, LITERAL, False),  # a browser connects in advance, and says nothing
    ],
)
def test_denied_raw_tcp_is_advised_as_raw_tcp(data: bytes, port: int, rule: str, *, raw: bool) -> None:
    with running(API) as rig, rig.dial(LITERAL, port) as sock:
        sock.sendall(data)
        assert read_all(sock) == b"<reset>"
        (denied,) = rig.mediator.summary().denied
    assert (denied.rule, 'protocol = "tcp"' in denied.table) == (rule, raw)


def test_a_silent_connection_to_a_denied_address_is_reset_and_recorded() -> None:
    with running(API) as rig, rig.dial(LITERAL, 443) as sock:
        assert read_all(sock) == b"<reset>"
        attempt, _ = refused(rig)
    assert attempt.protocol == "tcp"


def test_a_connection_that_only_opens_and_closes_is_recorded() -> None:
    with running(API) as rig:
        rig.dial(LITERAL, 4444).close()
        attempt, _ = refused(rig)
    assert (attempt.host, attempt.port) == (LITERAL, 4444)


def test_an_idle_connection_to_an_allowed_host_stays_open_until_it_is_used() -> None:
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        sock = rig.dial(rig.address(API))
        sock.settimeout(2 * gate.PEEK_S)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        sock.settimeout(60)
        client = http.client.HTTPConnection(API, 443)
        client.sock = rig.context().wrap_socket(sock, server_hostname=API)
        client.request("GET", "/")
        assert client.getresponse().status == 200
        client.close()


@pytest.mark.parametrize("port", [80, 443, 3000, 8000])
def test_a_browsers_connection_in_advance_lives_for_minutes_on_any_port_of_the_web(port: int) -> None:
    assert gate._patience(Destination(API, port), Allow("rule")) >= 300
    assert gate._patience(Destination(API, port), Deny("no", "")) < 1


def test_a_denied_port_where_the_server_speaks_first_is_not_waited_on() -> None:
    assert gate._patience(Destination(API, 22), Deny("no", "")) == 0
    with running(API) as rig:
        with pytest.raises(ConnectionResetError), rig.dial(LITERAL, 22) as sock:
            sock.recv(1)
        attempt, _ = refused(rig)
    assert (attempt.host, attempt.port) == (LITERAL, 22)


def test_a_connection_whose_destination_is_unknown_is_refused() -> None:
    with running(API) as rig, socket.create_connection(rig.tcp) as sock:
        sock.settimeout(60)
        assert read_all(sock) == b"<reset>"
        attempt, _ = refused(rig)
    assert attempt.host == "unknown"


def test_tcp_over_ipv6_is_judged_the_same() -> None:
    with running(API) as rig, socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
        sock.settimeout(60)
        sock.bind(("::1", 0))
        rig.origins.by_port[sock.getsockname()[1]] = ("2001:db8::7", 80)
        sock.connect(rig.sockets.tcp6.getsockname())
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b'add "[2001:db8::7]:80" to allow_hosts' in read_all(sock)
        attempt, _ = refused(rig)
    assert attempt.host == "2001:db8::7"


def test_dns_over_tcp_is_answered_by_us_and_not_passed() -> None:
    with running(API) as rig, rig.dial("9.9.9.9", 53) as sock:
        for name, code in ((API, 0), ("evil.test", 3)):
            wire = _question(name)
            sock.sendall(len(wire).to_bytes(2) + wire)
            reply = sock.recv(4096)
            assert reply[5] & 0xF == code
        assert [event.name for event in rig.recorder.of(DnsQuery)] == [API, "evil.test"]
        assert [event.allowed for event in rig.recorder.of(DnsDecision)] == [True, False]
        assert rig.recorder.of(EgressAttempt) == []


def test_a_refused_upload_is_not_read() -> None:
    with running(API) as rig, rig.dial(LITERAL, 80) as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n")
        sent = 0
        began = time.monotonic()
        try:
            while time.monotonic() - began < 20:
                sent += sock.send(b"x" * 65536)
        except OSError:
            pass
        refused(rig)
    assert sent < 64 << 20  # what fits in buffers and the linger, not the gigabyte


def test_more_connections_than_descriptors_allow_are_refused_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(descriptors, "connections", lambda _: 2)
    with running(f"{API}:80") as rig:
        address = rig.address(API)
        first, second = rig.dial(address, 80), rig.dial(address, 80)
        until(lambda: rig.origins.asked == 2)
        with rig.dial(address, 80) as third:
            third.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert b"2 connections are open already, all that the limit of open files" in read_all(third)
        first.close()
        second.close()


def test_a_program_that_trusts_other_roots_leaves_an_event_with_a_plain_reason() -> None:
    with running(API) as rig:
        sock = rig.dial(rig.address(API))
        with pytest.raises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(sock, server_hostname=API)
        sock.close()
        _, decision = refused(rig, 2)
        assert decision.reason == "the agent's program does not trust the run's certificate authority"
        assert rig.mediator.summary().warnings == (f"{API}:443: {decision.reason}",)
        assert rig.fatal == []


def test_the_control_an_allowed_request_passes() -> None:
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        with rig.https() as client:
            client.request("GET", "/")
            assert client.getresponse().status == 200
        rig.recorder.wait_for(LlmResponseEnd)
        assert [event.allowed for event in rig.recorder.of(EgressDecision)] == [True]


def _question(name: str) -> bytes:
    from dnslib import DNSRecord

    return bytes(DNSRecord.question(name).pack())
