"""What is no HTTP, recorded by `hark run` and replayed by `hark replay` when the servers are gone."""

import json
import os
import re
import subprocess
from typing import Any

import pytest

from tests.e2e.rig import Desk, ok
from tests.e2e.test_follow import outside as policy_outside
from tests.e2e.test_mcp import AGENT as MCP_AGENT
from tests.e2e.test_mcp import notes
from tests.e2e.test_publish import fetch
from tests.e2e.test_publish import serving as published
from tests.e2e.test_replay import PYTHON
from tests.e2e.test_tcp import allowed
from tests.e2e.test_websockets import AIOHTTP, WEBSOCKETS
from tests.fakes.raw import echo, raw_server
from tests.fakes.talker import echo as talk_back
from tests.fakes.talker import talking_to
from tests.fakes.upstream import Call, serving

pytestmark = pytest.mark.e2e

RAW = """
import os, socket
with socket.create_connection(("service.example", 7000)) as sock:
    for size in (5, 70_000):
        data = os.urandom(size)
        sock.sendall(data)
        got = b""
        while len(got) < size:
            got += sock.recv(1 << 16)
        assert got == data
    sock.shutdown(socket.SHUT_WR)
    assert sock.recv(1) == b""
print("fine")
"""


def replayed(at: Desk, *words: str) -> dict[str, Any]:
    """Replay the desk's bundle and return the verdict."""
    ended = at.hark("replay", "-json", *words, at.bundle)
    assert ended.stdout, ended.stderr
    verdict: dict[str, Any] = json.loads(ended.stdout)
    return verdict


def assert_equal(verdict: dict[str, Any]) -> None:
    assert (verdict["verdict"], verdict["why"]) == ("REPLAY-EQUAL", None), json.dumps(verdict, indent=1)
    assert (verdict["dials"], verdict["packets"]) == (0, 0)


@pytest.mark.parametrize("program", [WEBSOCKETS, AIOHTTP], ids=["websockets", "aiohttp"])
def test_a_websocket_is_replayed_without_its_server(rootless: Desk, program: str) -> None:
    rootless.write("talk.py", program)
    with talking_to("talk.example", talk_back) as server:
        options = rootless.toward(server, "talk.example")
        ok(rootless.run(*options, "--", rootless.user.python, "talk.py"))
    assert_equal(replayed(rootless))


def test_raw_tcp_is_replayed_without_its_server_and_another_byte_is_named(rootless: Desk) -> None:
    rootless.write("talk.py", RAW)
    with raw_server(echo) as server:
        ok(rootless.run(*allowed(rootless, 7000, server.port), "python3", "talk.py"))
    assert_equal(replayed(rootless))
    other = rootless.project.parent / "other"
    other.mkdir(mode=0o755)
    (other / "talk.py").write_text(RAW.replace("data = os.urandom(size)", "data = b'x' * size"))
    if os.geteuid() == 0:
        os.chown(other, rootless.user.uid, rootless.user.gid)
    verdict = replayed(rootless, f"-workdir={other}")
    assert verdict["verdict"] == "REPLAY-DIVERGED"
    named = r"service\.example:7000 differs: byte \d is 0x78"  # what it drew may begin with an x
    assert re.search(named, verdict["why"])


def test_a_tool_server_is_replayed_by_the_protocols_own_client_and_not_started(rootless: Desk) -> None:
    notes(rootless, 'allow_tools = ["held", { name = "add", arguments = { a = "[0-3]" } }]')
    rootless.write("agent.py", MCP_AGENT)
    ok(rootless.run("-policy=policy.toml", "--", rootless.user.python, "agent.py", "notes"))
    (rootless.project.parent / "server.py").unlink()
    del rootless.env["MINE"]
    assert_equal(replayed(rootless))


def test_what_the_operator_asked_of_a_published_port_is_asked_again(rootless: Desk) -> None:
    rootless.write("page.txt", "the page")
    command = "python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 & cat >/dev/null; kill $!"
    with published(rootless, command) as port:
        assert fetch(port, "/page.txt") == b"the page"
    assert_equal(replayed(rootless))


def test_a_policy_that_changed_while_it_ran_changes_again(rootless: Desk) -> None:
    script = "curl -sS https://api.example/first; echo;read word;curl -sS https://late.example/then"
    with serving("api.example", "late.example") as server:
        roots = rootless.write("roots.pem", server.ca_pem)
        policy = policy_outside(rootless, 'allow_hosts = ["api.example"]\n')
        words = [f"-policy={policy}", "-follow-policy", f"-upstream-ca={roots}"]
        words += [f"-upstream=api.example={server.address}"]
        run = rootless.start(
            "run", "-o", rootless.bundle, *words, "--", "sh", "-c", script, stdin=subprocess.PIPE
        )
        assert run.stdout is not None
        assert run.stdout.readline() == b"GET /first 0\n"
        late = f'[[allow]]\nhost = "late.example"\nupstream = "{server.address}"\n'
        policy_outside(rootless, f'allow_hosts = ["api.example"]\n{late}')
        assert run.stderr is not None
        while b" changed, and what may be reached" not in (line := run.stderr.readline()):
            assert line
        out, err = run.communicate(b"go\n", timeout=60)
    assert out.decode() == "GET /then 0", err.decode()
    assert_equal(replayed(rootless))


NAMED = """
import json, urllib.request, uuid
name = str(uuid.uuid4())
last = ""
for turn in range(2):
    body = json.dumps({"turn": turn, "name": name, "last": last}).encode()
    request = urllib.request.Request("https://api.example/v1", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        last = answer.read().decode()
    assert name in last
print("fine")
"""


def test_an_identifier_that_nothing_can_repeat_is_renamed_where_that_is_allowed(rootless: Desk) -> None:
    rootless.write("agent.py", NAMED)
    with serving("api.example") as server:

        @server.on("/v1")
        def answer(call: Call) -> None:
            call.reply(200, b"you are " + json.loads(call.body)["name"].encode())

        real = '[replay]\nrandomness = "real"\n'
        options = rootless.toward(server, "api.example", policy=real)
        ok(rootless.run(*options, "--", PYTHON, "agent.py"))
    verdict = replayed(rootless)
    assert verdict["verdict"] == "REPLAY-DIVERGED"
    assert "no recording for POST api.example/v1; nearest is event " in verdict["why"]
    verdict = replayed(rootless, "-allow-renaming")
    assert verdict["verdict"] == "REPLAY-EQUAL-RENAMED", verdict["why"]
    assert len(verdict["renaming"]) == 1
