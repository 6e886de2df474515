"""HTTP/1 framing, layer by layer without a network: fed whole and byte by byte it reads the same."""

from typing import Any, cast

import pytest
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.http import Request
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestTrailers,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)

from mediator.settled import SettledHook
from mediator.wire import MAX_HEAD, AgentHttp1, InterimHeaders, UpstreamHttp1, http1_only


def context() -> Context:
    client = Client(peername=("a", 1), sockname=("b", 2), state=ConnectionState.OPEN)
    found = Context(client, cast(Options, type("Settings", (), {})()))
    found.server = Server(address=("c", 3))
    found.server.state = ConnectionState.OPEN
    return found


class Agent:
    """An agent's connection fed by hand."""

    def __init__(self) -> None:
        self.malformed: list[str] = []
        self.layer = AgentHttp1(context(), self.malformed.append)
        self.commands: list[commands.Command] = list(self.layer.handle_event(events.Start()))

    def feed(self, data: bytes) -> None:
        """Give bytes."""
        for command in self.layer.handle_event(events.DataReceived(self.layer.conn, data)):
            self.commands.append(command)
        if self.commands and isinstance(self.commands[-1], SettledHook):
            assert self.malformed
            assert self.written == b""  # not before the denial is on the disk
            self.commands += self.layer.handle_event(events.HookCompleted(self.commands[-1]))

    @property
    def events(self) -> list[Any]:
        """Return what was understood."""
        return [command.event for command in self.commands if isinstance(command, ReceiveHttp)]

    @property
    def written(self) -> bytes:
        """Return what was answered."""
        return b"".join(command.data for command in self.commands if isinstance(command, commands.SendData))


REQUEST = (
    b"\r\nPOST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\nX-Sum: 9\r\n\r\n"
)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_a_request_with_trailers_reads_the_same_however_it_comes(size: int) -> None:
    agent = Agent()
    for at in range(0, len(REQUEST), size):
        agent.feed(REQUEST[at : at + size])
    head, *middle, trailers, end = agent.events
    assert isinstance(head, RequestHeaders)
    assert isinstance(end, RequestEndOfMessage)
    assert isinstance(trailers, RequestTrailers)
    assert tuple(trailers.trailers.fields) == ((b"X-Sum", b"9"),)
    assert all(isinstance(event, RequestData) for event in middle)
    assert b"".join(event.data for event in middle) == b"one"
    assert agent.malformed == []


def test_a_request_that_cannot_be_read_is_told_before_it_is_answered_and_without_its_bytes() -> None:
    agent = Agent()
    agent.feed(b"GET / NOT-HTTP secret-in-the-line\r\n\r\n")
    assert agent.malformed == ["bad http request line"]
    assert agent.written.startswith(b"HTTP/1.1 400 ")
    assert b"secret-in-the-line" not in agent.written
    assert isinstance(agent.commands[-1], commands.CloseConnection)


def test_a_head_that_never_ends_is_refused() -> None:
    agent = Agent()
    agent.feed(b"GET / HTTP/1.1\r\nX: " + b"a" * MAX_HEAD)
    assert agent.malformed == ["its head is too long"]
    assert agent.written.startswith(b"HTTP/1.1 431 ")


def upstream() -> UpstreamHttp1:
    layer = UpstreamHttp1(context())
    list(layer.handle_event(events.Start()))
    request = Request.make("GET", "http://a/")
    list(layer.handle_event(RequestHeaders(1, request, end_stream=True)))
    list(layer.handle_event(RequestEndOfMessage(1)))
    return layer


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_interim_answers_are_told_apart_and_trailers_read_however_they_come(size: int) -> None:
    layer = upstream()
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX: 1\r\n\r\n"
    )
    found: list[Any] = []
    for at in range(0, len(answer), size):
        got = layer.handle_event(events.DataReceived(layer.conn, answer[at : at + size]))
        found += [command.event for command in got if isinstance(command, ReceiveHttp)]
    assert [type(event) for event in found[:3]] == [InterimHeaders, InterimHeaders, ResponseHeaders]
    assert [event.response.status_code for event in found[:3]] == [103, 100, 200]
    assert b"".join(event.data for event in found if isinstance(event, ResponseData)) == b"body"
    assert isinstance(found[-2], ResponseTrailers)
    assert isinstance(found[-1], ResponseEndOfMessage)


def test_an_endless_answer_head_is_an_error_and_not_kept() -> None:
    layer = upstream()
    got = list(
        layer.handle_event(events.DataReceived(layer.conn, b"HTTP/1.1 200 OK\r\nX: " + b"a" * MAX_HEAD))
    )
    (failed,) = [command.event for command in got if isinstance(command, ReceiveHttp)]
    assert failed.message == "the answer's head is too long"


def test_other_versions_are_not_read_as_http1() -> None:
    request = Request.make("GET", "http://a/")
    http1_only(request)
    request.http_version = "HTTP/2.0"
    with pytest.raises(ValueError, match="is not HTTP/1"):
        http1_only(request)


def test_thousands_of_chunks_that_come_at_once_are_one_piece() -> None:
    """As a piece each, one segment would keep everybody else waiting for seconds."""
    agent = Agent()
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    agent.feed(head + b"1\r\na\r\n" * 10_000)
    agent.feed(b"1\r\nb\r\n0\r\n\r\n")
    pieces = [event.data for event in agent.events if isinstance(event, RequestData)]
    assert pieces == [b"a" * 10_000, b"b"]
    assert isinstance(agent.events[-1], RequestEndOfMessage)


def test_what_came_before_a_broken_chunk_is_told() -> None:
    agent = Agent()
    agent.feed(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\nno chunk\r\n"
    )
    assert [event.data for event in agent.events if isinstance(event, RequestData)] == [b"ab"]
    assert type(agent.events[-1]).__name__ == "RequestProtocolError"
