"""MCP over HTTP, through the mediator to a real server on the loopback."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from hark.bundle.events import (
    EgressDecision,
    LlmRequest,
    LlmResponseEnd,
    ToolCallRequest,
    ToolCallResult,
)
from hark.policy.model import Body, Rule, ToolRule
from mediator.transcript import MAX_WHOLE_BODY
from tests.fakes.upstream import Call, Upstream, serving
from tests.mediator.mcp.rig import call
from tests.mediator.rig import API, Rig, running
from tests.mediator.test_http import Client as H2Client

STREAMABLE = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
ALLOWED = ("echo",)


@dataclass
class Place:
    """A mediator, and the server that it leads to."""

    rig: Rig
    upstream: Upstream

    def post(
        self,
        message: object,
        path: str = "/mcp",
        headers: dict[str, str] | None = None,
        *,
        chunked: bool = False,
    ) -> tuple[int, bytes]:
        """Send a message, or bytes as they are, on a connection of its own."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        with self.rig.https() as client:
            sent: Any = iter([body[:5], body[5:]]) if chunked else body
            client.request("POST", path, sent, STREAMABLE | (headers or {}), encode_chunked=chunked)
            answer = client.getresponse()
            return answer.status, answer.read()

    @property
    def bodies(self) -> list[bytes]:
        """Return what reached the server."""
        return [seen.body for seen in self.upstream.seen]

    def tools(self) -> tuple[list[ToolCallRequest], list[ToolCallResult]]:
        """Return what was recorded of tools, once every exchange has ended."""
        self.rig.recorder.wait_for(LlmResponseEnd, len(self.rig.recorder.of(LlmRequest)))
        return self.rig.recorder.of(ToolCallRequest), self.rig.recorder.of(ToolCallResult)


def result(call: Call) -> bytes:
    """Return the server's answer to a call."""
    message = json.loads(call.body)
    one = message[0] if isinstance(message, list) else message
    return json.dumps({"jsonrpc": "2.0", "id": one["id"], "result": {"content": [], "of": one}}).encode()


@contextmanager
def place(tools: tuple[str, ...] | None = ALLOWED, body: Body = Body.WHOLE) -> Iterator[Place]:
    """Run a mediator whose rule lists these tools."""
    rules = None if tools is None else tuple(ToolRule(name) for name in tools)
    rule = Rule(API, name="allow 1", tools=rules, body=body)
    with (
        serving(API) as upstream,
        running(rules=(rule,), upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):

        def answer(call: Call) -> None:
            call.reply(200, result(call), [("Content-Type", "application/json")])

        for path in ("/mcp", "/other"):
            upstream.on(path)(answer)
        yield Place(rig, upstream)
        assert rig.fatal == []


@pytest.mark.parametrize("tools", [None, ALLOWED])
@pytest.mark.parametrize("chunked", [False, True])
def test_an_allowed_call_passes_and_is_listed_with_its_result(
    tools: tuple[str, ...] | None, chunked: bool
) -> None:
    with place(tools) as here:
        status, body = here.post(call("echo", 4, a="ä"), chunked=chunked)
        asked, results = here.tools()
    assert status == 200
    assert here.bodies == [json.dumps(call("echo", 4, a="ä")).encode()]
    (request,) = here.rig.recorder.of(LlmRequest)
    assert [(one.server, one.tool, one.exchange) for one in asked] == [(API, "echo", request.exchange)]
    assert json.loads(asked[0].arguments) == {"a": "ä"}
    assert [(one.tool, one.is_error, one.exchange) for one in results] == [("echo", False, request.exchange)]
    assert json.loads(results[0].result) == json.loads(body)["result"]


@pytest.mark.parametrize("size", [MAX_WHOLE_BODY - 200, MAX_WHOLE_BODY + 1])
def test_a_body_in_pieces_is_listed_up_to_a_ceiling_and_the_room_comes_back(size: int) -> None:
    with place(None) as here:
        room = here.rig.mediator._engine._sessions.room
        before = room.left
        assert here.post(call("echo", 1, more="x" * size), chunked=True)[0] == 200
        assert len(here.tools()[0]) == (size < MAX_WHOLE_BODY)
        assert room.left == before


@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "*/*"])
def test_a_denied_call_is_answered_in_its_protocol_and_reaches_nobody(accept: str) -> None:
    with place() as here:
        status, body = here.post(call("delete", 4), headers={"Accept": accept})
        asked, results = here.tools()
        denied = [one.reason for one in here.rig.recorder.of(EgressDecision) if not one.allowed]
        (end,) = here.rig.recorder.of(LlmResponseEnd)
        counted = here.rig.mediator.summary().denied
    assert status == (200 if "event-stream" in accept else 403)
    said = json.loads(body)
    assert said["id"] == 4
    assert 'tools = ["delete"]' in said["error"]["message"]
    assert here.bodies == []
    assert [one.tool for one in asked] == [one.tool for one in results] == ["delete"]
    assert results[0].is_error
    assert denied == ['tool "delete" is not in tools; to allow it: tools = ["delete"]']
    assert end.error.startswith("refused: tool")
    assert [one.reason for one in counted] == denied


BATCH = json.dumps([call("echo", 1), call("delete", 2)]).encode()
TWICE = b'{"id":1,"method":"ping","method":"tools/call","params":{"name":"delete"}}'
DELETE = json.dumps(call("delete")).encode()


@pytest.mark.parametrize(
    ("sent", "headers", "status"),
    [
        (BATCH, {}, 200),
        (TWICE, {}, 400),
        (DELETE.replace(b"tools/call", b"tools\\/call"), {}, 200),
        (DELETE.replace(b"tools/call", b"\\u0074ools/call"), {}, 200),
        (b"[" + BATCH + b"]", {}, 400),
        (DELETE + b"\n" + DELETE, {}, 400),
        (DELETE + b" " * (1 << 20), {}, 413),
        (gzip.compress(DELETE, mtime=0), {"Content-Encoding": "gzip"}, 415),
        (DELETE, {"Content-Encoding": "xz"}, 415),
        (DELETE, {"Content-Type": "text/plain"}, 200),
        (DELETE.decode().encode("utf-16"), {}, 400),
        (DELETE, {"Content-Type": "application/json; charset=utf-7"}, 415),
        (b"message=" + DELETE, {"Content-Type": "application/x-www-form-urlencoded"}, 400),
        (b"[" * 100_000, {}, 400),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_no_form_of_a_denied_call_reaches_the_server(
    sent: bytes, headers: dict[str, str], status: int, chunked: bool
) -> None:
    with place() as here:
        got, _ = here.post(sent, headers=headers, chunked=chunked)
        assert here.bodies == []
    assert got == status


@pytest.mark.parametrize(("tools", "status"), [(None, 101), (ALLOWED, 501)])
def test_a_websocket_has_no_place_under_a_list_of_tools(tools: tuple[str, ...] | None, status: int) -> None:
    key = "dGhlIHNhbXBsZSBub25jZQ=="  # RFC 6455, 1.3
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    with place(tools) as here, here.rig.https() as client:

        @here.upstream.on("/ws")
        def agree(call: Call) -> None:
            call.send_response(101)
            for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade")):
                call.send_header(name, value)
            call.send_header("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            call.end_headers()
            call.close_connection = True

        client.request("GET", "/ws", headers=headers | {"Sec-WebSocket-Key": key})
        assert client.getresponse().status == status


def test_the_end_of_a_session_passes_under_a_list_of_tools() -> None:
    """Its `DELETE` has no body. What has one is judged by that, whatever its method: the control."""
    with place() as here, here.rig.https() as client:
        here.upstream.on("/mcp")(lambda call: call.reply(200, b""))
        for body, status in ((None, 200), (DELETE, 200)):
            headers = STREAMABLE | {"Mcp-Session-Id": "s"}
            client.request("DELETE", "/mcp", body, headers)
            answer = client.getresponse()
            assert answer.status == status
            assert (b"not in tools" in answer.read()) is bool(body)
        assert [(seen.method, seen.body) for seen in here.upstream.seen] == [("DELETE", b"")]


ESCAPES = "".join(f"\\u{ord(char):04X}" for char in "tools/call")


@pytest.mark.parametrize(
    "method", ["tools/call", "tools\\/call", *(f"{'tools/call'[:at]}{ESCAPES[6 * at :]}" for at in range(10))]
)
def test_however_the_method_is_escaped_the_call_is_listed(method: str) -> None:
    with place(None) as here:
        here.post(DELETE.replace(b"tools/call", method.encode()))
        assert [one.tool for one in here.tools()[0]] == ["delete"]


def test_without_a_list_all_of_that_passes() -> None:
    with place(None) as here:
        for sent in (BATCH, TWICE, DELETE, b"[" * 1000, gzip.compress(DELETE, mtime=0)):
            here.post(sent, path="/")
        assert here.bodies == [BATCH, TWICE, DELETE, b"[" * 1000, gzip.compress(DELETE, mtime=0)]
        assert [one.tool for one in here.tools()[0]] == ["echo", "delete", "delete"]


def test_a_later_request_and_another_path_are_judged_too() -> None:
    with place() as here, here.rig.https() as client:
        for path, tool, reaches in (
            ("/mcp", "echo", True),
            ("/mcp", "delete", False),
            ("/other", "delete", False),
            ("/mcp", "echo", True),
        ):
            before = len(here.upstream.seen)
            client.request("POST", path, json.dumps(call(tool)), STREAMABLE)
            assert b"error" not in client.getresponse().read() or not reaches
            assert (len(here.upstream.seen) > before) == reaches


@pytest.mark.parametrize(("tool", "reaches"), [("echo", True), ("delete", False)])
@pytest.mark.parametrize("announced", [True, False])
def test_a_message_over_http_2_is_judged_with_and_without_a_length(
    tool: str, reaches: bool, announced: bool
) -> None:
    body = json.dumps(call(tool)).encode()
    with place() as here, here.rig.tls(API, 443, None, "h2") as sock:
        client = H2Client(sock)
        if announced:
            stream = client.begin("/mcp", len(body))
            client.more(stream, body[:20])
            client.more(stream, body[20:], last=True)
        else:
            stream = client.ask("/mcp", body=body)
        (answer,) = client.wait(stream)
        assert (b'"error"' not in answer.body) == reaches
        assert here.bodies == [body] * reaches


def test_over_http_2_a_long_message_is_refused_before_it_ends() -> None:
    with place() as here, here.rig.tls(API, 443, None, "h2") as sock:
        client = H2Client(sock)
        (answer,) = client.wait(client.begin("/mcp", MAX_WHOLE_BODY + 1))
        assert answer.status == 413
        assert here.bodies == []


def test_requests_without_a_body_pass_a_rule_with_tools() -> None:
    with place() as here, here.rig.https() as client:
        for method in ("GET", "DELETE"):
            client.request(method, "/anything", headers={"Mcp-Session-Id": "s"})
            assert client.getresponse().read() is not None
        assert [seen.method for seen in here.upstream.seen] == ["GET", "DELETE"]


def test_a_result_in_events_is_listed_as_it_comes_and_the_stream_is_not_held() -> None:
    go_on = threading.Event()
    with place() as here:

        @here.upstream.on("/mcp")
        def answer(call: Call) -> None:
            call.begin_chunked("text/event-stream")
            data = b"event: message\ndata: " + result(call) + b"\n\n"
            for at in range(0, len(data), 7):
                call.chunk(data[at : at + 7])
            go_on.wait(60)
            call.chunk(b": more\n\n")
            call.chunk(b"")

        with here.rig.https() as client:
            client.request("POST", "/mcp", json.dumps(call("echo", "x")), STREAMABLE)
            response = client.getresponse()
            got = b""
            while b"\n\n" not in got:
                got += response.read1()
            here.rig.recorder.wait_for(ToolCallResult)
            go_on.set()
            response.read()
        (found,) = here.tools()[1]
        assert found.tool == "echo"


def test_a_result_on_another_stream_of_the_session_is_put_under_its_call() -> None:
    posted = threading.Event()
    with place() as here:

        @here.upstream.on("/mcp")
        def answer(call: Call) -> None:
            if call.command == "POST":
                call.reply(202)
                posted.set()
                return
            call.begin_chunked("text/event-stream")
            posted.wait(60)
            call.chunk(b'data: {"id":9,"result":{"late":true}}\n\n')
            call.chunk(b"")

        headers = STREAMABLE | {"Mcp-Session-Id": "s1"}
        with here.rig.https() as stream:
            stream.request("GET", "/mcp", headers=headers)
            response = stream.getresponse()
            here.post(call("echo", 9), headers=headers)
            response.read()
        asked, results = here.tools()
        assert [(one.exchange, one.result) for one in results] == [(asked[0].exchange, b'{"late":true}')]


def test_a_result_of_the_older_transport_is_put_under_its_call() -> None:
    posted = threading.Event()
    with place() as here:

        @here.upstream.on("/sse")
        def events(call: Call) -> None:
            call.begin_chunked("text/event-stream")
            call.chunk(b"event: endpoint\ndata: /messages?session_id=1\n\n")
            posted.wait(60)
            call.chunk(b'data: {"id":9,"result":{"isError":true}}\n\n')
            call.chunk(b"")

        @here.upstream.on("/messages")
        def message(call: Call) -> None:
            call.reply(202, b"Accepted")
            posted.set()

        with here.rig.https() as stream:
            stream.request("GET", "/sse", headers={"Accept": "text/event-stream"})
            response = stream.getresponse()
            response.read1()
            here.post(call("echo", 9), "/messages?session_id=1")
            response.read()
        (found,) = here.tools()[1]
        assert found.is_error


@pytest.mark.parametrize("answer", [b"{", b"[[]]", b'{"id":4,"id":4,"result":1}', b"\xff", b"[" * 100_000])
def test_an_answer_that_cannot_be_read_passes_and_is_not_listed(answer: bytes) -> None:
    with place() as here:
        here.upstream.on("/mcp")(lambda call: call.reply(200, answer, [("Content-Type", "application/json")]))
        assert here.post(call("echo", 4)) == (200, answer)
        assert here.tools()[1] == []


def test_a_packed_answer_is_read_and_servers_are_asked_for_what_can_be() -> None:
    with place() as here:

        @here.upstream.on("/mcp")
        def answer(call: Call) -> None:
            headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
            call.reply(200, gzip.compress(result(call)), headers)

        here.post(call("echo"), headers={"Accept-Encoding": "xz, gzip, compress"})
        assert here.upstream.seen[0].header("accept-encoding") == "gzip"
        assert len(here.tools()[1]) == 1


def test_where_bodies_are_kept_as_hashes_so_are_arguments_and_results_left_out() -> None:
    with place(body=Body.HASH) as here:
        here.post(call("echo", 1, a="private"))
        asked, results = here.tools()
    assert (asked[0].tool, asked[0].arguments, results[0].result) == ("echo", b"", b"")
    assert b"private" not in here.rig.recorder.bytes()


def test_a_call_without_an_id_is_judged_and_nobody_waits_for_it() -> None:
    note = {"method": "tools/call", "params": {"name": "delete"}}
    with place() as here:
        status, body = here.post(note)
        assert (status, json.loads(body)["id"]) == (403, None)
        assert here.bodies == []
