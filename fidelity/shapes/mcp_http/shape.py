"""A tool server over HTTP, with a session, that answers calls as an event stream."""

import itertools
import json
from typing import Any

from fidelity.serving import built, say
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call, Upstream


def build(server: Upstream) -> None:
    """Count the calls of the tool `next`."""
    count = itertools.count(1)

    def result(message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                info = {"name": "counter", "version": "1"}
                return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                return {
                    "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("next", "erase")]
                }
            case _:
                return {"content": [{"type": "text", "text": f"number {next(count)}"}], "isError": False}

    def mcp(call: Call) -> None:
        message = json.loads(call.body)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message)}
        if message["method"] == "tools/call":
            call.begin_chunked("text/event-stream")
            call.chunk(f"event: message\ndata: {json.dumps(answer)}\n\n".encode())
            call.chunk(b"")
        else:
            say(call, answer, 200, ("Mcp-Session-Id", "session-7"))

    server.on("/mcp")(mcp)


def expect(run: Outcome) -> None:
    """Two calls came through, the third was denied."""
    assert run.lines[0] == "counter session-7"
    assert run.lines[2:4] == ["next number 1", "next number 2"]
    assert run.lines[4].startswith("erase hark: not sent")
    calls = [event["tool"] for event in run.desk.events("ToolCallRequest")]
    assert calls == ["next", "next", "erase"]


SHAPE = Shape(
    about="MCP over HTTP: a session, calls, one denied", serve=built(build, "tools.example"), expect=expect
)
