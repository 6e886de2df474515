"""Python's sockets in this process, turned to a mediator; and all of it given back."""

import asyncio
import http.client
import multiprocessing
import socket
import ssl
import urllib.request

import pytest

from hark.bundle.events import DnsQuery, EgressAttempt, LlmRequest
from hark.inprocess.guard import Refused
from tests.hark.inprocess.rig import redirected
from tests.mediator.rig import API, plain, running, served


def test_a_request_by_name_is_judged_recorded_and_trusted() -> None:
    with served() as (rig, upstream):
        upstream.on("/v1")(lambda call: call.reply(200, b"hello"))
        before = ssl.create_default_context()  # made before, as those that libraries make when they load
        with redirected(rig) as guard:
            connection = http.client.HTTPSConnection(API, timeout=60, context=before)
            connection.request("GET", "/v1")
            assert connection.getresponse().read() == b"hello"
            connection.close()
            assert guard.refusals == []
        asked = [(one.name, one.type) for one in rig.recorder.of(DnsQuery)]
        assert asked == [(API, "A"), (API, "AAAA")]
        assert [one.host for one in rig.recorder.of(LlmRequest)] == [API]


def test_a_socket_that_is_wrapped_before_it_connects_goes_the_same_way() -> None:
    with served() as (rig, upstream):
        upstream.on("/v1")(lambda call: call.reply(200, b"hello"))
        with (
            redirected(rig),
            ssl.create_default_context().wrap_socket(socket.socket(), server_hostname=API) as sock,
        ):
            assert sock.connect_ex((API, 443)) == 0
            sock.sendall(f"GET /v1 HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: sock.recv(4096), b""))
        assert answer.endswith(b"hello")
        assert [one.host for one in rig.recorder.of(LlmRequest)] == [API]


def test_asyncio_and_its_resolver_go_the_same_way() -> None:
    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection(API, 80)
        writer.write(f"GET /v1 HTTP/1.1\r\nHost: {API}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer

    with plain() as (rig, upstream):
        upstream.on("/v1")(lambda call: call.reply(200, b"hello"))
        with redirected(rig):
            assert asyncio.run(ask()).endswith(b"hello")
        assert len(rig.recorder.of(LlmRequest)) == 1


def test_a_name_that_is_denied_is_no_name_and_an_address_is_refused_in_words() -> None:
    with running("other.example.test") as rig, redirected(rig) as guard:
        with pytest.raises(socket.gaierror):
            socket.create_connection((API, 443), timeout=60)
        with pytest.raises(socket.gaierror):
            socket.gethostbyname(API)
        with socket.create_connection(("192.0.2.7", 80), timeout=60) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"403" in sock.recv(4096)
        with socket.create_connection(("::ffff:192.0.2.8", 80), timeout=60) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"403" in sock.recv(4096)
        assert guard.refusals == []
    assert [one.host for one in rig.recorder.of(EgressAttempt)] == ["192.0.2.7", "192.0.2.8"]


def test_what_the_process_serves_itself_is_its_own_and_is_not_recorded() -> None:
    with running(API) as rig, socket.create_server(("127.0.0.1", 0)) as server, redirected(rig):
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, server.getsockname()[1]), timeout=60).close()
        assert rig.recorder.of(EgressAttempt) == []


def test_datagrams_local_sockets_and_multiprocessing_are_refused() -> None:
    with running(API) as rig, redirected(rig) as guard:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, pytest.raises(Refused):
            sock.connect(("192.0.2.1", 443))
        with socket.socket(socket.AF_UNIX) as sock, pytest.raises(Refused):
            sock.connect("/run/docker.sock")
        with pytest.raises(Refused):
            multiprocessing.get_context("spawn").Process(target=print).start()
        assert len(guard.refusals) == 3


def test_all_is_given_back() -> None:
    names = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")
    before = [getattr(socket, name) for name in names]
    with running(API) as rig:
        with redirected(rig):
            assert [getattr(socket, name) for name in names] != before
        assert [getattr(socket, name) for name in names] == before
        assert not {"connect", "connect_ex"} & vars(socket.socket).keys()
        assert ssl.SSLContext.wrap_socket.__module__ == "ssl"


def test_a_context_that_checks_nothing_is_left_as_it_is() -> None:
    with served() as (rig, upstream):
        upstream.on("/v1")(lambda call: call.reply(200, b"hello"))
        context = ssl._create_unverified_context()
        with redirected(rig), urllib.request.urlopen(f"https://{API}/v1", context=context) as answer:
            assert answer.read() == b"hello"
        assert context.cert_store_stats()["x509"] == 0
