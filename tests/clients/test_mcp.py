"""A coding agent with a tool server: Claude Code finds the stub by its `.mcp.json`, as any server."""

import json
import shutil
from typing import Any

import pytest

from tests.clients.kit import Kit
from tests.clients.models import ANTHROPIC_KEY
from tests.clients.test_clients import fetched
from tests.e2e.conftest import at, rootless, who
from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, serving
from tests.support.user import ROOT

__all__ = ["at", "fetched", "rootless", "who"]  # fixtures

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

HOST = "api.anthropic.com"
WANTED = (("mcp__notes__echo", {"note": "kept"}), ("mcp__notes__delete", {"note": "all"}))
POLICY = """
[secrets.ANTHROPIC_API_KEY]
env = "REAL_KEY"
hosts = ["api.anthropic.com"]

[mcp.notes]
command = [{python}, {server}]
allow_tools = ["echo"]

[env.set]
CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
DISABLE_AUTOUPDATER = "1"
ENABLE_TOOL_SEARCH = "false"
MCP_CONNECT_TIMEOUT_MS = "120000"  # of itself 5 s: on a busy machine it would go on without the tools
MCP_CONNECTION_NONBLOCKING = "0"  # else it may ask its model first, and the tools are there later
"""


def model(call: Call) -> None:
    """Ask for one tool after the other, then say what came of them."""
    asked = json.loads(call.body)
    results = [part for message in asked["messages"] for part in parts(message) if is_result(part)]
    if len(results) < len(WANTED) and any(tool["name"] == WANTED[0][0] for tool in asked.get("tools", ())):
        name, arguments = WANTED[len(results)]
        block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": {}}
        stream(call, block, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use")
        return
    said = json.dumps([part.get("content") for part in results])
    stream(call, {"type": "text", "text": ""}, {"type": "text_delta", "text": said}, "end_turn")


def parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def is_result(part: dict[str, Any]) -> bool:
    return part.get("type") == "tool_result"


def stream(call: Call, block: dict[str, object], delta: dict[str, str], stop: str) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": []}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": message | {"stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    call.reply(200, body.encode(), [("Content-Type", "text/event-stream")])


def test_claude_code_calls_an_allowed_tool_and_is_told_why_another_is_denied(at: Desk, fetched: Kit):
    kit = Kit(at.user, fetched.folder)
    server = shutil.copy(ROOT / "tests" / "fakes" / "mcp_server.py", at.project.parent / "server.py")
    at.env["REAL_KEY"] = ANTHROPIC_KEY
    at.write(".mcp.json", json.dumps({"mcpServers": {"notes": {"command": "notes"}}}))
    policy = POLICY.format(python=json.dumps(at.user.python), server=json.dumps(str(server)))
    claude = kit.npm("../@anthropic-ai/claude-code-linux-x64/claude")
    tools = ",".join(name for name, _ in WANTED)
    with serving(HOST) as upstream:
        upstream.on("/v1/messages")(model)
        options = at.toward(upstream, HOST, policy=policy)
        argv = [claude, "-p", "use the tools", "--mcp-config", ".mcp.json", "--allowedTools", tools]
        ended = ok(at.run(*options, f"-read={fetched.folder}", "--", *argv, timeout=150))
    assert "kept" in ended.stdout
    assert 'allow_tools = [\\"delete\\"]' in ended.stdout.replace("\\\\", "\\")
    assert [event["tool"] for event in at.events("ToolCallRequest")] == ["echo", "delete"]
    assert [event["is_error"] for event in at.events("ToolCallResult")] == [False, True]
    assert ANTHROPIC_KEY.encode() not in at.bundle.read_bytes()
    assert at.verdict().startswith("VERIFIED")


def test_claude_code_is_forked_at_a_tools_result_and_keeps_its_tool_server(at: Desk, fetched: Kit) -> None:
    """It asks the live model with the patched result, and its next tool of the forker's own server."""
    kit = Kit(at.user, fetched.folder)
    server = shutil.copy(ROOT / "tests" / "fakes" / "mcp_server.py", at.project.parent / "server.py")
    seen = at.project.parent / "seen"
    seen.mkdir()
    seen.chmod(0o777)
    at.env["REAL_KEY"] = ANTHROPIC_KEY
    at.write(".mcp.json", json.dumps({"mcpServers": {"notes": {"command": "notes"}}}))
    at.write("patch.json", '{"replace": "kept", "with": "changed"}')
    claude = kit.npm("../@anthropic-ai/claude-code-linux-x64/claude")
    tools = ",".join(name for name, _ in WANTED)
    bundle = at.project.parent / "fork.hark"

    def options(into: str) -> list[str]:
        command = json.dumps(["/usr/bin/env", f"SEEN={seen / into}", at.user.python, str(server)])
        policy = POLICY.replace("[{python}, {server}]", command).replace(
            'allow_tools = ["echo"]', 'may_reexecute = ["echo", "delete"]'
        )
        return [*at.toward(upstream, HOST, policy=policy), f"-read={fetched.folder}"]

    with serving(HOST) as upstream:
        upstream.on("/v1/messages")(model)
        argv = [claude, "-p", "use the tools", "--mcp-config", ".mcp.json", "--allowedTools", tools]
        ok(at.run(*options("recorded"), "--", *argv, timeout=150))
        words = ("-at", "mcp.notes/echo", "-patch", "patch.json", *options("live"), at.bundle)
        ended = ok(at.hark("fork", "-o", bundle, *words, timeout=150))
    assert "changed" in ended.stdout
    assert "kept" not in ended.stdout
    asked = [json.loads(line) for line in (seen / "live").read_text().splitlines()]
    assert [one["method"] for one in asked[:2]] == ["initialize", "notifications/initialized"]
    assert [one["params"]["name"] for one in asked if one["method"] == "tools/call"] == ["delete"]
    assert "REPLAY-EQUAL" in ok(at.hark("replay", bundle, timeout=150)).stderr
