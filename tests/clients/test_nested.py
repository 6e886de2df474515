"""Coding agents with sandboxes of their own: they work inside hark with one setting, and fail with its name.

Each is told by its model to write into the project and into a folder beside it, which hark lets the agent
write. So what refuses the second is the agent's own sandbox; without that, both are written: the control.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.kit import Kit
from tests.clients.models import ANTHROPIC_KEY, CODEX, OPENAI_KEY
from tests.clients.test_clients import fetched
from tests.clients.test_mcp import is_result, parts, stream
from tests.e2e.conftest import at, rootless, who
from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, serving

__all__ = ["at", "fetched", "rootless", "who"]  # fixtures

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

NESTED = "[sandbox]\nnested = true\n"
NAMED = "hark: bwrap was refused a user namespace; [sandbox] nested = true in the policy allows it"
ENV = """
[env.set]
CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
DISABLE_AUTOUPDATER = "1"
TMPDIR = "/dev/shm"  # Codex makes no helper in a home that lies in it, and the test's home lies in /tmp
"""
OF_CODEX = ("exclude_slash_tmp=true", "exclude_tmpdir_env_var=true")
"""What its sandbox would let the command write beside the project: the folder lies in /tmp."""

type Model = Callable[[Call], None]


def beside(at: Desk) -> Path:
    """A folder of the user's that the agent may write, and its own sandbox does not know of."""
    folder = at.project.parent / "beside"
    folder.mkdir(exist_ok=True)
    shutil.chown(folder, at.user.uid, at.user.gid)
    return folder


def task(at: Desk) -> str:
    return f"echo one > made; echo two > {beside(at)}/made; echo ended with $?"


def run(
    at: Desk, kit: Kit, model: Model, path: str, policy: str, *argv: str
) -> subprocess.CompletedProcess[str]:
    """Run an agent whose model is `model`. The policy lies outside: a nested agent could rewrite it."""
    host = {"/v1/responses": "api.openai.com", "/v1/messages": "api.anthropic.com"}[path]
    key = {"/v1/responses": "CODEX_KEY", "/v1/messages": "ANTHROPIC_API_KEY"}[path]
    at.env["REAL_KEY"] = {"CODEX_KEY": OPENAI_KEY, "ANTHROPIC_API_KEY": ANTHROPIC_KEY}[key]
    secret = f'[secrets.{key}]\nenv = "REAL_KEY"\nhosts = ["{host}"]\n'
    with serving(host) as upstream:
        upstream.on(path)(model)
        folder = at.project.parent
        (folder / "policy.toml").write_text(f'allow_hosts = ["{host}"]\n{secret}{ENV}{policy}')
        (folder / "ca.pem").write_bytes(upstream.ca_pem)
        options = [f"-policy={folder}/policy.toml", f"-upstream-ca={folder}/ca.pem"]
        options += [f"-upstream={host}={upstream.address}", f"-read={kit.folder}", f"-write={beside(at)}"]
        return at.run(*options, "--", *argv, timeout=150)


def codex_told(command: str) -> Model:
    """The Responses API in small: it wants one command run, then says what came of it."""

    def model(call: Call) -> None:
        outputs = [
            one["output"] for one in json.loads(call.body)["input"] if one["type"] == "function_call_output"
        ]
        item: dict[str, object] = {
            "type": "function_call",
            "id": "f1",
            "call_id": "c1",
            "name": "exec_command",
            "arguments": json.dumps({"cmd": command}),
            "status": "completed",
        }
        if outputs:
            said = {"type": "output_text", "text": str(outputs), "annotations": []}
            item = {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
                "content": [said],
            }
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": "r1", "object": "response", "model": "stub", "output": [item], "usage": usage}
        events: list[dict[str, object]] = [
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"status": "completed"}},
        ]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        call.reply(200, body.encode(), [("Content-Type", "text/event-stream")])

    return model


def claude_told(command: str) -> Model:
    """The Messages API in small, of the same mind."""

    def model(call: Call) -> None:
        asked = json.loads(call.body)
        results = [part for message in asked["messages"] for part in parts(message) if is_result(part)]
        if not results and any(tool["name"] == "Bash" for tool in asked.get("tools", ())):
            block = {"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": {}}
            wanted = {"type": "input_json_delta", "partial_json": json.dumps({"command": command})}
            stream(call, block, wanted, "tool_use")
            return
        said = str([part.get("content") for part in results])
        stream(call, {"type": "text", "text": ""}, {"type": "text_delta", "text": said}, "end_turn")

    return model


def codex(at: Desk, kit: Kit, policy: str, *sandbox: str) -> subprocess.CompletedProcess[str]:
    words = [word for word in CODEX[:-1] if word != "--dangerously-bypass-approvals-and-sandbox"]
    own = [word for one in OF_CODEX for word in ("-c", f"sandbox_workspace_write.{one}")]
    argv = [kit.npm("codex"), *words, *own, *sandbox, "-m", "gpt-5", "go on"]
    return run(at, kit, codex_told(task(at)), "/v1/responses", policy, *argv)


def claude(at: Desk, kit: Kit, policy: str, *, sandboxed: bool) -> subprocess.CompletedProcess[str]:
    if sandboxed and (missing := [name for name in ("bwrap", "socat") if shutil.which(name) is None]):
        pytest.skip(f"Claude Code's sandbox needs {' and '.join(missing)}")
    own = {"enabled": sandboxed, "autoAllowBashIfSandboxed": True, "failIfUnavailable": True}
    program = kit.npm("../@anthropic-ai/claude-code-linux-x64/claude")
    argv = [program, "-p", "go on", "--settings", json.dumps({"sandbox": own}), "--allowedTools", "Bash"]
    return run(at, kit, claude_told(task(at)), "/v1/messages", policy, *argv)


def made(at: Desk) -> list[bool]:
    return [(folder / "made").exists() for folder in (at.project, beside(at))]


def test_codex_confines_its_commands_inside_hark(at: Desk, fetched: Kit):
    kit = Kit(at.user, fetched.folder)
    ended = ok(codex(at, kit, NESTED, "--sandbox", "workspace-write"))
    assert "ended with" in ended.stdout
    assert "Read-only file system" in ended.stdout
    assert "refused" not in ended.stderr
    assert made(at) == [True, False]
    assert "VERIFIED" in at.verdict()


def test_codex_whose_sandbox_is_refused_names_the_setting(rootless: Desk, fetched: Kit):
    kit = Kit(rootless.user, fetched.folder)
    ended = codex(rootless, kit, "", "--sandbox", "workspace-write")
    assert NAMED in ended.stderr
    assert made(rootless) == [False, False]


def test_codex_without_its_sandbox_writes_what_hark_lets_it(rootless: Desk, fetched: Kit):
    kit = Kit(rootless.user, fetched.folder)
    ok(codex(rootless, kit, "", "--sandbox", "danger-full-access"))
    assert made(rootless) == [True, True]


def test_claude_code_confines_its_commands_inside_hark(at: Desk, fetched: Kit):
    ended = ok(claude(at, Kit(at.user, fetched.folder), NESTED, sandboxed=True))
    assert "Read-only file system" in ended.stdout
    assert "refused" not in ended.stderr
    assert made(at) == [True, False]
    assert "VERIFIED" in at.verdict()


def test_claude_code_whose_sandbox_is_refused_names_the_setting(rootless: Desk, fetched: Kit):
    ended = claude(rootless, Kit(rootless.user, fetched.folder), "", sandboxed=True)
    assert NAMED in ended.stderr
    assert made(rootless) == [False, False]


def test_claude_code_without_its_sandbox_writes_what_hark_lets_it(rootless: Desk, fetched: Kit):
    ok(claude(rootless, Kit(rootless.user, fetched.folder), "", sandboxed=False))
    assert made(rootless) == [True, True]
