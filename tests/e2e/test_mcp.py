"""MCP with the protocol's own client and server, and with programs that know nothing of it but its lines."""

import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.support.user import ROOT
from tests.support.waiting import until

pytestmark = pytest.mark.e2e

VALUE = "sk-live-0123456789abcdefghijklmnop"
PING = """echo '{"id":1,"method":"x"}'"""
FAKE = ROOT / "tests" / "fakes" / "mcp_server.py"

SERVER = """
import os, sys
from mcp.server import MCPServer

server = MCPServer("notes")

@server.tool()
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

@server.tool()
def held() -> bool:
    "Tell whether the server has its credential."
    return os.environ.get("NOTES_TOKEN", "").startswith("sk-live-")

@server.tool()
def delete(name: str) -> str:
    "Delete a note."
    return "deleted " + name

@server.tool()
def token() -> str:
    "Give the credential away."
    return os.environ["NOTES_TOKEN"]

if sys.argv[1:]:
    from mcp.server.transport_security import TransportSecuritySettings

    any_host = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), transport_security=any_host)
else:
    server.run()
"""

AGENT = """
import asyncio, sys
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

def server(where):
    if where.startswith("http"):
        return streamable_http_client(where)
    return stdio_client(StdioServerParameters(command=where))

async def main():
    async with Client(server(sys.argv[1])) as client:
        print("tools", sorted(tool.name for tool in (await client.list_tools()).tools))
        sums = {"a": 2, "b": 3}, {"a": 4, "b": 0}
        for name, arguments in (("add", sums[0]), ("held", {}), ("delete", {"name": "x"}), ("add", sums[1])):
            try:
                result = await client.call_tool(name, arguments)
                print(name, result.content[0].text)
            except MCPError as error:
                print(name, "DENIED", error)

asyncio.run(main())
"""

NODE = """
const { spawn } = require("child_process");
const server = spawn(process.argv[1]);
let text = "";
server.stdout.on("data", (data) => { text += data; if (text.endsWith("\\n")) server.stdin.end(); });
server.on("close", (code) => { console.log(text.trim(), code); });
const call = { id: 1, method: "tools/call", params: { name: "echo", arguments: { from: "node" } } };
server.stdin.write(JSON.stringify(call) + "\\n");
"""


def outside(at: Desk, name: str, text: str) -> Path:
    """Put a file where the agent does not reach, readable for the user."""
    path = at.project.parent / name
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)
    return path


def policy(at: Desk, command: list[str], more: str = "") -> None:
    """Write a policy with one tool server."""
    at.write("policy.toml", f"[mcp.notes]\ncommand = {json.dumps(command)}\n{more}")


def notes(at: Desk, more: str = "") -> None:
    """Write a policy with the SDK's server."""
    server = outside(at, "server.py", SERVER)
    at.env["MINE"] = VALUE
    policy(at, [at.user.python, str(server)], f'secrets = {{ NOTES_TOKEN = "MINE" }}\n{more}')


def test_the_protocols_own_client_and_server_meet_across_the_boundary(at: Desk):
    notes(at, 'allow_tools = ["held", { name = "add", arguments = { a = "[0-3]" } }]')
    at.write("agent.py", AGENT)
    ended = ok(at.run("-policy=policy.toml", "--", at.user.python, "agent.py", "notes"))
    lines = ended.stdout.splitlines()
    assert lines[:3] == ["tools ['add', 'delete', 'held', 'token']", "add 5", "held true"]
    assert lines[3].startswith("delete DENIED")
    assert 'allow_tools = ["delete"]' in lines[3]
    assert lines[4].startswith("add DENIED")
    assert 'tool "delete" is not in allow_tools' in ended.stderr
    calls = [event["tool"] for event in at.events("ToolCallRequest")]
    assert calls == ["add", "held", "delete", "add"]
    assert [event["is_error"] for event in at.events("ToolCallResult")] == [False, False, True, True]
    notes_of_run = at.events("Boundary")[0]["notes"]
    assert any(note.startswith("mcp.notes runs /") and "outside" in note for note in notes_of_run)
    assert VALUE.encode() not in at.bundle.read_bytes()
    assert at.verdict().startswith("VERIFIED")


def test_a_server_that_gives_its_credential_away_is_cut_off(rootless: Desk):
    notes(rootless)
    rootless.write("agent.py", AGENT.replace('("held", {})', '("token", {})'))
    ended = rootless.run("-policy=policy.toml", "--", rootless.user.python, "agent.py", "notes")
    assert VALUE not in ended.stdout + ended.stderr
    assert "NOTES_TOKEN of mcp.notes" in ended.stderr
    assert VALUE.encode() not in rootless.bundle.read_bytes()
    assert rootless.verdict().startswith("VERIFIED")


@pytest.mark.parametrize("words", ["sh", "node"])
def test_any_program_can_be_the_client(at: Desk, words: str):
    fake = shutil.copy(FAKE, at.project.parent / "fake.py")
    policy(at, [at.user.python, str(fake)])
    if words == "node":
        node = shutil.which("node", path="/usr/local/bin:/usr/bin")
        if node is None:
            pytest.skip("node is not installed on this machine")
        argv = [node, "-e", NODE, "notes"]
    else:
        line = '{"id":1,"method":"tools/call","params":{"name":"echo","arguments":{"from":"sh"}}}'
        argv = ["sh", "-c", f"echo '{line}' | notes"]
    ended = ok(at.run("-policy=policy.toml", "--", *argv))
    assert f'{{\\"from\\": \\"{words}\\"}}' in ended.stdout


def test_a_stub_is_among_what_may_be_executed_when_its_shell_and_python_are(rootless: Desk):
    fake = shutil.copy(FAKE, rootless.project.parent / "fake.py")
    python = os.path.realpath(rootless.user.python)
    policy(rootless, [rootless.user.python, str(fake)])
    text = (rootless.project / "policy.toml").read_text()
    rootless.write("policy.toml", f'exec = ["sh", "{python}"]\n{text}')
    ended = ok(
        rootless.run("-policy=policy.toml", "--", "sh", "-c", 'echo \'{"id":1,"method":"x"}\' | notes')
    )
    assert json.loads(ended.stdout)["id"] == 1


def test_the_agent_finds_no_credential_of_a_servers(at: Desk):
    notes(at)
    search = "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /run/hark/mcp/bin/notes /run/hark/mcp/stub.py"
    ended = at.run("-policy=policy.toml", "--", "sh", "-c", f"({PING}; sleep 1) | notes & sleep 1; {search}")
    assert "PATH=" in ended.stdout
    assert "NOTES_TOKEN" not in ended.stdout
    assert VALUE not in ended.stdout


def test_nothing_of_a_server_is_left_when_hark_is_killed(at: Desk):
    pid = at.project.parent / "pid"
    script = f"echo $$ > {pid}; trap '' TERM; setsid sleep 98765 & while :; do sleep 98765; done"
    server = outside(at, "server.sh", f"#!/bin/sh\n{script}\n")
    os.chmod(at.project.parent, 0o777)
    policy(at, [str(server)])
    process = at.start(
        "run", "-policy=policy.toml", "--", "sh", "-c", f"({PING}; sleep 1000) | notes",
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: pid.exists() and pid.read_text().strip())
    number = int(pid.read_text())
    process.kill()
    process.wait()
    until(lambda: not Path(f"/proc/{number}").exists())
    until(lambda: not sleepers())


def sleepers() -> list[str]:
    """Return what still runs of that server."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.strip().endswith("sleep 98765")]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["{project}/server"], "where the agent may"),
        (["python3", "{project}/server.py"], "where the agent may"),
        (["no-such-server"], "not found"),
    ],
)
def test_a_server_that_the_agent_could_rewrite_is_refused_before_the_start(
    rootless: Desk, command: list[str], why: str
):
    for name in ("server", "server.py"):
        rootless.write(name, "#!/bin/sh\n").chmod(0o755)
    policy(rootless, [word.format(project=rootless.project) for word in command])
    ended = ok(rootless.run("-policy=policy.toml", "--", "true"), 125)
    assert why in ended.stderr
    assert "mcp.notes" in ended.stderr


@contextmanager
def over_http(at: Desk) -> Iterator[int]:
    """Run the SDK's server over HTTP on a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = outside(at, "server.py", SERVER)
    argv = [sys.executable, str(server), str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, env=dict(os.environ) | {"NOTES_TOKEN": VALUE}, **quiet) as process:
        try:
            until(lambda: _answers(port))
            yield port
        finally:
            process.kill()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_the_protocols_own_client_and_server_meet_over_http(rootless: Desk):
    at = rootless
    at.write("agent.py", AGENT)
    with over_http(at) as port:
        at.write(
            "policy.toml",
            f'[[allow]]\nhost = "notes.example"\nport = 80\nupstream = "127.0.0.1:{port}"\n'
            'tools = ["add", "held"]\n',
        )
        url = "http://notes.example/mcp"
        ended = ok(at.run("-policy=policy.toml", "--", at.user.python, "agent.py", url))
    lines = ended.stdout.splitlines()
    assert lines[:3] == ["tools ['add', 'delete', 'held', 'token']", "add 5", "held true"]
    assert lines[3].startswith("delete DENIED")
    assert lines[4:] == ["add 4"]
    calls = at.events("ToolCallRequest")
    assert [event["tool"] for event in calls] == ["add", "held", "delete", "add"]
    results = at.events("ToolCallResult")
    assert {event["exchange"] for event in results} == {event["exchange"] for event in calls}
    assert [event["is_error"] for event in sorted(results, key=lambda one: one["exchange"])] == [
        False, False, True, False,
    ]  # fmt: skip
