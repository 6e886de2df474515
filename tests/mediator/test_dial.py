"""Dialling: resolved on the host's side, verified for the canonical name, refused in a sentence."""

import asyncio
import os
import socket
import ssl
import threading
from typing import Any

import pytest

from hark.errors import UpstreamError
from hark.policy.model import Address
from launcher import netlink
from mediator import dial
from mediator.authority import Destination
from mediator.dial import Dialler, UpstreamTrust
from mediator.upstream import read_redirects
from tests.fakes.upstream import serving
from tests.launcher.rig import apart
from tests.mediator.rig import API, OTHER

TARGET = Destination(API, 443)


def attempt(dialler: Dialler, target: Destination = TARGET, *, tls: bool = True) -> str | None:
    """Dial once and return what ALPN agreed on."""

    async def once() -> str | None:
        _, writer = await dialler.dial(target, tls=tls, h2=False)
        try:
            agreed = writer.get_extra_info("ssl_object")
            return agreed.selected_alpn_protocol() if agreed else None
        finally:
            writer.transport.abort()
            await asyncio.sleep(0)

    return asyncio.run(once())


def test_a_redirect_is_dialled_and_verified_for_the_name() -> None:
    with serving(API) as upstream:
        dialler = Dialler(read_redirects({API: upstream.address}), UpstreamTrust(upstream.ca_pem))
        assert attempt(dialler) == "http/1.1"


@pytest.mark.parametrize("trusted", [False, True])
def test_a_certificate_that_does_not_verify_is_refused(trusted: bool) -> None:
    with serving(OTHER if trusted else API) as upstream:
        roots = upstream.ca_pem if trusted else b""
        dialler = Dialler(read_redirects({API: upstream.address}), UpstreamTrust(roots))
        with pytest.raises(
            UpstreamError,
            match=f"the certificate of {API} does not verify: .*; .* name that with -upstream-ca",
        ):
            attempt(dialler)
        assert upstream.seen == []


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "0.0.0.0"])
def test_a_name_that_resolves_to_this_machine_or_its_link_is_not_dialled(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rebound(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    with serving(API) as upstream:
        with pytest.raises(UpstreamError, match=f"-upstream {API}=ADDRESS"):
            attempt(Dialler({}, UpstreamTrust(upstream.ca_pem)))
        assert upstream.dials == 0


def at_an_address_of_a_link(address: str) -> str:
    """Dial a server on every address of a machine that has this one on a link, by its name; say what came."""
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
    netlink.transact(netlink.NETLINK_ROUTE, [netlink.address(1, address, 24), netlink.link_up(1)])
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server(("", 0), family=family) as server:
        port = server.getsockname()[1]
        socket.getaddrinfo = lambda *_, **__: [(family, 1, 6, "", (address, port))]  # type: ignore[assignment]
        try:
            attempt(Dialler({}, UpstreamTrust()), Destination(API, port), tls=False)
        except UpstreamError as error:
            return str(error)
    return "dialled"


@pytest.mark.attack
@pytest.mark.parametrize("address", ["192.168.77.5", "2001:db8::5"])
def test_a_name_that_resolves_to_what_this_machine_is_called_on_its_network_is_not_dialled(
    address: str,
) -> None:
    assert f"{API} is at {address} (of this machine)" in apart(lambda: at_an_address_of_a_link(address))


@pytest.mark.attack
def test_the_control_where_nobody_asks_whose_address_it_is_that_is_dialled() -> None:
    def unasked() -> str:
        dial._is_own = lambda _: False
        return at_an_address_of_a_link("192.168.77.5")

    assert apart(unasked) == "dialled"


def test_whose_an_address_is_is_the_kernels_word() -> None:
    assert [dial._is_own(one) for one in ("127.0.0.1", "192.0.2.1", "2001:db8::1")] == [True, False, False]


def test_a_literal_of_this_machine_is_not_dialled_without_an_explicit_upstream() -> None:
    with serving("127.0.0.1", tls=False) as upstream:
        literal = Destination("127.0.0.1", upstream.port)
        with pytest.raises(UpstreamError, match="loopback"):
            attempt(Dialler({}, UpstreamTrust()), literal, tls=False)
        assert (
            attempt(Dialler(read_redirects({"127.0.0.1": "127.0.0.1"}), UpstreamTrust()), literal, tls=False)
            is None
        )


def test_a_name_that_does_not_resolve_is_said_so() -> None:
    with pytest.raises(UpstreamError, match=r"does-not-exist\.invalid does not resolve"):
        attempt(Dialler({}, UpstreamTrust()), Destination("does-not-exist.invalid", 443))


def test_a_dead_first_address_costs_a_moment_and_the_next_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(API, tls=False) as upstream:
        monkeypatch.setattr(dial, "dialable", lambda *_: (("127.0.0.2", "127.0.0.1"), ""))

        async def anything(_: Destination) -> list[str]:
            return []

        monkeypatch.setattr(dial, "_resolve", anything)
        with socket.socket() as unused:
            unused.bind(("127.0.0.2", upstream.port))
            place = asyncio.run(_peer(Dialler({}, UpstreamTrust()), Destination(API, upstream.port)))
        assert place == ("127.0.0.1", upstream.port)


def test_a_server_that_does_not_speak_tls_is_said_so() -> None:
    with serving(API, tls=False) as upstream:
        dialler = Dialler(read_redirects({API: upstream.address}), UpstreamTrust(upstream.ca_pem))
        with pytest.raises(UpstreamError, match=r"TLS failed \(wrong version number\); .* over http://"):
            attempt(dialler)


def test_every_connection_can_be_ended_at_once() -> None:
    async def ended(dialler: Dialler) -> bytes:
        reader, writer = await dialler.dial(TARGET, tls=True, h2=False)
        writer.close()  # waits for the server's goodbye, which does not come
        dialler.abort_all()
        return await asyncio.wait_for(reader.read(), 5)

    with serving(API) as upstream:
        dialler = Dialler(read_redirects({API: upstream.address}), UpstreamTrust(upstream.ca_pem))
        assert asyncio.run(ended(dialler)) == b""


def test_contexts_verify_and_offer_what_they_should() -> None:
    trust = UpstreamTrust(b"text before\n" + _any_root() + b"\ntext after \xff", b"")
    for h2 in (False, True):
        context = trust.context(h2=h2)
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.check_hostname
        assert len(context.get_ca_certs()) == 1
        assert trust.context(h2=h2) is context


async def _peer(dialler: Dialler, target: Destination) -> tuple[str, int]:
    _, writer = await dialler.dial(target, tls=False, h2=False)
    peer: tuple[str, int] = writer.get_extra_info("peername")
    writer.close()
    await writer.wait_closed()
    return peer


def _any_root() -> bytes:
    from datetime import UTC, datetime

    from mediator.ca import RunCA

    return RunCA.create(datetime.now(UTC)).pem()


def test_a_resolver_that_hangs_does_not_hold_up_the_end_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, released = threading.Event(), threading.Event()

    def hanging(*_: Any, **__: Any) -> list[Any]:
        asked.set()
        released.wait(60)
        return []

    async def ask_and_leave() -> None:
        task = asyncio.create_task(dial._resolve(Destination(API, 443)))
        await asyncio.to_thread(asked.wait, 10)
        task.cancel()

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    asyncio.run(ask_and_leave())  # the default executor would wait here for as long as the resolver does
    assert not released.is_set()
    released.set()


def test_one_damaged_root_does_not_take_the_others_away() -> None:
    damaged = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    with serving(API) as upstream:
        dialler = Dialler(read_redirects({API: upstream.address}), UpstreamTrust(damaged + upstream.ca_pem))
        assert attempt(dialler) == "http/1.1"


def test_an_address_that_a_rule_appoints_is_dialled_although_it_is_this_machine() -> None:
    with serving(API) as upstream:
        trust = UpstreamTrust(upstream.ca_pem)
        here = Address("127.0.0.1", upstream.port)
        assert attempt(Dialler({}, trust, lambda target: here if target == TARGET else None)) == "http/1.1"
        with pytest.raises(UpstreamError, match="loopback"):
            attempt(Dialler({}, trust, lambda _: None), Destination("127.0.0.1", upstream.port))


def test_the_command_lines_address_comes_before_the_policys() -> None:
    with serving(API) as upstream:
        nowhere = Address("127.0.0.1", 1)
        redirects = read_redirects({API: upstream.address})
        assert attempt(Dialler(redirects, UpstreamTrust(upstream.ca_pem), lambda _: nowhere)) == "http/1.1"
