"""A value in what a server says to which it is not bound ends the run, whatever it came in."""

import contextlib
import gzip
import socket
from collections.abc import Callable
from http.client import HTTPException

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from hark.bundle.events import LlmResponseEnd, TunnelData
from hark.policy.model import HostRule, Policy, Rule, Speaks, Surface, TokenEndpoint
from mediator import bodies, strays
from mediator.authority import Destination
from mediator.codings import PackedError
from mediator.credentials import Broker
from mediator.grants import Held
from mediator.minting import Mint
from mediator.placeholders import placeholder_for
from mediator.scan import FoundError
from mediator.transcript import Headers
from tests.fakes.raw import raw_server
from tests.fakes.upstream import Call
from tests.mediator import test_streaming, test_talking
from tests.mediator.mcp import test_connection
from tests.mediator.rig import API, API_TARGET, OTHER, Rig, link_to, pair, running, secret

VALUE = "Geheim-31337"
PASSWORD = secret(VALUE, OTHER, name="DB_PASSWORD", placeholder=placeholder_for(VALUE))
AT_HOME = secret(VALUE, API, name="DB_PASSWORD", placeholder=PASSWORD.placeholder)
REASON = "the server sent the value of secrets.DB_PASSWORD, which is not bound to it"


def ended(rig: Rig, source: str = f"{API}:443") -> None:
    (why,) = rig.fatal
    assert why.startswith(f"secrets.DB_PASSWORD came in an answer of {source}, to which it is not bound: ")
    assert VALUE.encode() not in rig.recorder.bytes()
    assert PASSWORD.placeholder.encode() not in rig.recorder.bytes()


def test_the_reason_of_a_stream_says_which_secret_it_was_and_no_other_text_does() -> None:
    assert strays.secret_in(strays.reason("DB_PASSWORD")) == "DB_PASSWORD"
    assert strays.secret_in(f"it broke off: {strays.reason('DB_PASSWORD')}") is None
    assert strays.secret_in("") is None
    assert "name that host in its `hosts`" in strays.end("A", API_TARGET)
    assert "hosts" not in strays.end("A", "mcp.fake")


ANSWERS: dict[str, Callable[[Call], None]] = {
    "body": lambda call: call.reply(200, VALUE.encode()),
    "gzip": lambda call: call.reply(200, gzip.compress(VALUE.encode()), [("Content-Encoding", "gzip")]),
    "vouched for": lambda call: call.reply(200, VALUE.encode(), [("Content-MD5", "x")]),
    "hex": lambda call: call.reply(200, VALUE.encode().hex().encode()),
    "decimal numbers": lambda call: call.reply(200, ",".join(str(char) for char in VALUE.encode()).encode()),
    "soft line break": lambda call: call.reply(200, b"Geheim-=\r\n31337"),
    "header": lambda call: call.reply(200, b"", [("X-Tried", VALUE)]),
    "two headers": lambda call: call.reply(200, b"", [("X-Tried", VALUE[:6]), ("X-More", VALUE[6:])]),
}


@pytest.mark.parametrize("way", ANSWERS)
def test_in_an_answer(way: str) -> None:
    with pair(secrets=(PASSWORD,)) as (rig, upstream), rig.https() as client:
        upstream.routes["/wrong"] = lambda call: call.reply(200, b"Geheim-31336")
        client.request("GET", "/wrong")
        assert client.getresponse().read() == b"Geheim-31336"
        assert rig.fatal == [], "the control: another guess passes"
        upstream.routes["/right"] = ANSWERS[way]
        with contextlib.suppress(OSError, HTTPException):  # reset before its head, or cut behind it
            client.request("GET", "/right")
            client.getresponse().read()
        ended(rig)
        assert rig.recorder.of(LlmResponseEnd)[-1].error == REASON


@pytest.mark.parametrize("way", ["body", "gzip", "hex", "header"])
def test_the_control_a_server_that_it_is_bound_to_may_give_it_back(way: str) -> None:
    with pair(secrets=(AT_HOME,)) as (rig, upstream), rig.https() as client:
        upstream.routes["/right"] = ANSWERS[way]
        client.request("GET", "/right")
        client.getresponse().read()
        assert not rig.recorder.of(LlmResponseEnd)[-1].error
        assert rig.fatal == []


def test_in_raw_tcp() -> None:
    def leak(connection: socket.socket) -> None:
        connection.sendall(VALUE.encode())
        connection.recv(1)

    rule = Rule(API, (5432,), "allow 1", Speaks.TCP)
    with (
        raw_server(leak) as server,
        running(rules=(rule,), upstreams={API: server.address}, secrets=(PASSWORD,)) as rig,
        rig.dial(rig.address(API), 5432) as sock,
    ):
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(100) == b""
        assert any(event.error.endswith(REASON) for event in rig.recorder.of(TunnelData))
        ended(rig, f"{API}:5432")


def test_in_an_upgraded_connection() -> None:
    def leak(connection: socket.socket) -> None:
        connection.recv(1)
        connection.sendall(VALUE.encode())
        with contextlib.suppress(OSError):
            connection.recv(1)

    serve = test_streaming.agreeing(leak)
    with test_streaming.before(serve, secrets=(PASSWORD,)) as (rig, _), test_streaming.opened(rig) as sock:
        test_streaming.until(sock, b"\r\n\r\n")
        sock.sendall(b"x")
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(100) == b""
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert end.error == REASON
        ended(rig, f"{API}:80")


def test_in_a_message_of_a_websocket() -> None:
    def leak(server: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            server.send("Geheim-31336")
            server.recv()
            server.send(VALUE)
            server.recv()

    with test_talking.talking(leak, secrets=(PASSWORD,)) as rig, test_talking.client(rig) as opened:
        assert opened.recv() == "Geheim-31336", "the control: another guess passes"
        opened.send("more")
        with pytest.raises(ConnectionClosed):
            opened.recv()
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        assert end.error == REASON
        ended(rig)


@pytest.mark.parametrize("own", [False, True])
def test_in_a_message_of_a_tool_server_unless_it_is_its_own(own: bool) -> None:
    held = secret(VALUE, name="TOKEN of mcp.fake") if own else PASSWORD
    program = test_connection.program(env={"TOKEN": VALUE})
    with test_connection.door(program, (held,)) as (rig, client):
        client.call("leak", name="TOKEN")
        assert client.receive() is None
        assert f"secrets.{held.name}" in test_connection.ended(rig)
        assert len(rig.fatal) == (not own)


def fields(value: str, target: Destination = API_TARGET, *more: Held) -> Headers:
    """Turn a value in the header of an answer of `target` back, `more` having been minted."""
    link = link_to(target)
    broker = Broker([PASSWORD, secret(VALUE, API, name="ALIKE")])
    for held in more:
        broker.add(held)
    object.__setattr__(link, "broker", broker)
    return bodies.turned_trailers(link, ((b"x", value.encode()),))


def test_a_value_is_at_home_where_any_secret_that_has_it_is() -> None:
    assert fields(VALUE) != ((b"x", VALUE.encode()),)
    with pytest.raises(bodies.StoppedError, match="not bound to it"):
        fields(VALUE, Destination("third.example.test", 443))


def test_a_minted_token_is_turned_back_wherever_it_comes_from() -> None:
    """Hosts of one service show a session to one another, and nobody guesses what a server makes up."""
    token, stand_in = "minted-0123456789abcdefghij", "hark" + "m" * 30
    minted = Held("access_token-1@x", token, stand_in, (((HostRule(OTHER),), (Surface.HEADER,)),))
    assert fields(token, API_TARGET, minted) == ((b"x", stand_in.encode()),)


def test_a_token_that_is_minted_around_a_guess_is_one() -> None:
    """Else a token endpoint that lets the agent choose would tell, by refusing it."""
    policy = Policy(allow_hosts=(HostRule(API),), tokens=(TokenEndpoint(API, "/token", ("access_token",)),))
    minting = bodies.minting_at(policy, API_TARGET, b"/token")
    assert minting is not None
    found = [("access_token", f"begin-{VALUE}-end")]
    with pytest.raises(FoundError):
        Mint(Broker([PASSWORD]), lambda _: None).keep(found, API_TARGET, minting)
    with pytest.raises(PackedError, match="holds another secret"):
        Mint(Broker([AT_HOME]), lambda _: None).keep(found, API_TARGET, minting)
