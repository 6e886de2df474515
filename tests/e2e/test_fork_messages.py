"""`hark fork` at messages: of tools over stdio, WebSockets, raw TCP. Each fork replays equal."""

import json
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.e2e.test_fork import events, fork
from tests.e2e.test_fork_talks import SAYING
from tests.e2e.test_mcp import FAKE
from tests.fakes.raw import raw_server
from tests.fakes.talker import talking_to

pytestmark = pytest.mark.e2e

TOOLS = """
import json, subprocess

process = subprocess.Popen(["notes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
ids = iter(range(100))

def say(method, number=None, **params):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    process.stdin.write(json.dumps(message if number is None else message | {"id": number}) + "\\n")
    process.stdin.flush()

def call(words):
    number = next(ids)
    say("tools/call", number, name="echo", arguments={"said": words})
    answer = json.loads(process.stdout.readline() or '{"error": {"message": "ended"}}')
    if "error" in answer:
        return answer["error"]["message"]
    assert answer["id"] == number, answer
    return json.loads(answer["result"]["content"][0]["text"])["said"]

say("initialize", "hello", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "a"})
print("hello", json.loads(process.stdout.readline())["id"], flush=True)
say("notifications/initialized")
for word in ("one", "two", "three"):
    print(word, call(word), flush=True)
"""


class Tools:
    """A desk with a tool server of its own for each run: what it was asked goes into a file."""

    def __init__(self, at: Desk) -> None:
        self.at = at
        self._fake = at.project.parent / "fake.py"
        self._fake.write_bytes(Path(FAKE).read_bytes())
        self._fake.chmod(0o755)
        self.seen = at.project.parent / "seen"
        self.seen.mkdir()
        self.seen.chmod(0o777)
        at.write("agent.py", TOOLS)

    def policy(self, into: str, more: str = "") -> str:
        """An option: a server that writes into this file."""
        command = json.dumps(
            ["/usr/bin/env", f"SEEN={self.seen / into}", self.at.user.python, str(self._fake)]
        )
        return f"-policy={self.at.write(f'{into}.toml', f'[mcp.notes]\ncommand = {command}\n{more}')}"

    def asked(self, name: str) -> list[str]:
        """Return the methods that the server of a file was asked, or the words that it was to echo."""
        path = self.seen / name
        messages = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [
            one["params"]["arguments"]["said"] if one["method"] == "tools/call" else one["method"]
            for one in messages
        ]

    def record(self) -> None:
        """Record the run."""
        ok(self.at.run(self.policy("recorded"), "--", "python3", "agent.py"))
        assert self.asked("recorded") == [*HELLO, "one", "two", "three"]
        (self.seen / "recorded").unlink()

    def seq(self, kind: str, nth: int) -> str:
        """Return the number of the nth event of a kind."""
        return numbers(self.at, kind)[nth][0]


HELLO = ["initialize", "notifications/initialized"]
MARK = 'may_reexecute = ["echo"]\n'


def numbers(at: Desk, kind: str) -> list[tuple[str, dict[str, object]]]:
    """Return the events of a kind in the recording, each with its number."""
    printed = ok(at.hark("inspect", "--json", f"-kind={kind}", at.bundle)).stdout
    found = [json.loads(line) for line in printed.splitlines()]
    return [(str(one["seq"]), one["fields"]) for one in found]


def told(printed: str) -> dict[str, str]:
    """What the agent said, by the first word of each line."""
    return dict(line.split(" ", 1) for line in printed.splitlines())


def replays_equal(at: Desk, printed: str) -> None:
    """The fork happens again, both halves of it, without anything real."""
    bundle = at.project.parent / "fork.hark"
    assert ok(at.hark("verify", bundle)).stdout.startswith("VERIFIED")
    again = ok(at.hark("replay", bundle))
    assert "REPLAY-EQUAL" in again.stderr
    assert again.stdout == printed


@pytest.mark.parametrize("named", ["ToolCallResult", "mcp.notes/echo#2"])
def test_a_tools_result_is_patched_and_the_same_connection_goes_on_live(rootless: Desk, named: str) -> None:
    """The forker's server is told what the agent said first, and nothing that it had called before."""
    tools = Tools(rootless)
    tools.record()
    at = tools.seq(named, 1) if named.isalpha() else named
    patch = rootless.write("p.json", json.dumps({"replace": "two", "with": 'tw"o', "note": "another two"}))
    ended = ok(fork(rootless, "-at", at, "-patch", patch, tools.policy("live", MARK)))
    assert "FORKED at the result of mcp.notes/echo (event" in ended.stderr
    assert told(ended.stdout) == {"hello": "hello", "one": "one", "two": 'tw"o', "three": "three"}
    assert not (tools.seen / "recorded").exists()
    assert tools.asked("live") == [*HELLO, "three"]
    notes = [one["note"] for one in events(rootless, "McpMessage") if one["note"]]
    assert any("answered to hark" in note for note in notes), notes
    replays_equal(rootless, ended.stdout)
    child = ok(rootless.hark("fork", "-at=mcp.notes/echo#3", "-o", rootless.project.parent / "child.hark",
                             tools.policy("child", MARK), rootless.project.parent / "fork.hark"))  # fmt: skip
    assert told(child.stdout)["two"] == 'tw"o'
    assert tools.asked("child") == [*HELLO, "three"]
    assert "REPLAY-EQUAL" in ok(rootless.hark("replay", rootless.project.parent / "child.hark")).stderr


@pytest.mark.parametrize("by", ["pointer", "unmarked", "no policy"])
def test_after_a_patched_result_a_call_needs_its_mark_and_a_server(rootless: Desk, by: str) -> None:
    tools = Tools(rootless)
    tools.record()
    patch = json.dumps({"set": "/result/content/0/text", "value": '{"said": "none"}'})
    options = [] if by == "no policy" else [tools.policy("live", MARK if by == "pointer" else "")]
    words = ("-at=mcp.notes/echo", "-patch", rootless.write("p.json", patch))
    ended = fork(rootless, *words, *options)
    assert "FORKED" in ok(ended).stderr
    said = told(ended.stdout)
    assert said["one"] == "none"
    expected = {"pointer": "two", "unmarked": "may_reexecute", "no policy": "may_reexecute"}
    assert expected[by] in said["two"]
    assert tools.asked("live") == ([*HELLO, "two", "three"] if by == "pointer" else [])
    replays_equal(rootless, ended.stdout)


@pytest.mark.parametrize("patched", [True, False])
def test_a_call_is_the_first_that_the_forkers_own_server_is_asked(rootless: Desk, patched: bool) -> None:
    tools = Tools(rootless)
    tools.record()
    patch = {"set": "/params/arguments/said", "value": "TWO", "on": "request"}
    more = ["-patch", rootless.write("p.json", json.dumps(patch))] if patched else []
    at = tools.seq("ToolCallRequest", 1)
    ended = ok(fork(rootless, "-at", at, *more, tools.policy("live", MARK)))
    word = "TWO" if patched else "two"
    assert told(ended.stdout) == {"hello": "hello", "one": "one", "two": word, "three": "three"}
    assert tools.asked("live") == [*HELLO, word, "three"]
    calls = [one["exchange"] for one in events(rootless, "ToolCallRequest")]
    assert [one["exchange"] for one in events(rootless, "Rewritten")] == calls[1:2] * patched
    compared = rootless.hark("diff", rootless.bundle, rootless.project.parent / "fork.hark")
    assert compared.returncode == patched, compared.stdout
    assert ("TWO" in compared.stdout) == patched
    replays_equal(rootless, ended.stdout)


def test_what_cannot_be_said_anew_is_refused_before_anything_starts(rootless: Desk) -> None:
    tools = Tools(rootless)
    tools.record()
    patch = rootless.write("p.json", '{"replace": "none such", "with": "x"}')
    status = rootless.write("s.json", '{"status": 500}')
    lines = rootless.write("l.json", '{"body": "a\\nb"}')
    id_ = rootless.write("i.json", '{"set": "/id", "value": 77}')
    result = tools.seq("ToolCallResult", 1)
    call = tools.seq("ToolCallRequest", 1)
    first = tools.seq("McpMessage", 0)
    mark = tools.policy("live", MARK)
    for words, why in (
        (("-at", result, "-patch", patch, mark), "does not occur"),
        (("-at", result, "-patch", status, mark), "a message has no status"),
        (("-at", result, "-patch", lines, mark), "is one line"),
        (("-at", result, "-patch", id_, mark), "another id"),
        (("-at", first, mark), "calls of tools alone can be asked live"),
        (("-at", "mcp.notes/echo#9", mark), "was called 3 times"),
        (("-at", call), "name [mcp.notes]"),
        (("-at", call, tools.policy("unmarked")), "may_reexecute"),
        (("-at", call, tools.policy("other", 'allow_tools = ["other"]')), "not in allow_tools"),
    ):
        ended = fork(rootless, *words)
        assert ended.returncode not in (0, 1) or "patch" in str(words), (words, ended.stderr)
        assert why in ended.stderr, (words, ended.stderr)
        assert "Traceback" not in ended.stderr
    assert tools.asked("live") == []


SOCKET = """
import asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

async def main():
    async with connect("wss://talk.example/x") as talk:
        for word in ("one", "two", "three"):
            try:
                await talk.send(word)
                print(word, await asyncio.wait_for(talk.recv(), 60), flush=True)
            except ConnectionClosed as error:
                print(word, "ended", error.rcvd and error.rcvd.reason, flush=True)
    async with connect("wss://talk.example/new") as talk:
        await talk.send("new")
        print("new", await asyncio.wait_for(talk.recv(), 60), flush=True)

asyncio.run(main())
"""


def test_a_message_of_a_websockets_server_is_patched_and_what_follows_is_live(rootless: Desk) -> None:
    heard: list[str] = []
    prefix = [""]

    def serve(connection: object) -> None:
        for message in connection:  # type: ignore[attr-defined]
            heard.append(message)
            connection.send(prefix[0] + json.dumps({"you": message}))  # type: ignore[attr-defined]

    rootless.write("agent.py", SOCKET)
    with talking_to("talk.example", serve) as server:
        policy = '[[allow]]\nhost = "talk.example"\nmay_reexecute = true\n'
        roots = rootless.write("talk.pem", server.ca_pem)
        options = [f"-policy={rootless.write('policy.toml', policy)}", f"-upstream-ca={roots}",
                   f"-upstream=talk.example={server.address}"]  # fmt: skip
        ok(rootless.run(*options, "--", rootless.user.python, "agent.py"))
        messages = [(seq, one) for seq, one in numbers(rootless, "WebSocketMessage") if one["type"] == "text"]
        second = [seq for seq, one in messages if not one["from_agent"]][1]
        asked = next(seq for seq, one in messages if one["from_agent"])
        prefix[0] = "live "
        heard.clear()
        patch = rootless.write("p.json", json.dumps({"set": "/you", "value": "2"}))
        refused = fork(rootless, "-at", asked, *options)
        assert "no server can be asked in the middle of a WebSocket" in refused.stderr
        ended = ok(fork(rootless, "-at", second, "-patch", patch, *options))
    said = told(ended.stdout)
    assert (said["one"], said["two"]) == ('{"you": "one"}', '{"you": "2"}')
    assert said["three"].startswith("ended")
    assert said["new"] == 'live {"you": "new"}'
    assert heard == ["new"]
    assert "FORKED at the server's message in the WebSocket GET talk.example/x (event" in ended.stderr
    replays_equal(rootless, ended.stdout)


RAW = f"""{SAYING}for word in ("one", "two", "three"):
    print(word, say(old, word.encode()), flush=True)
print("new", say(talk(), b"new"), flush=True)
"""


def test_bytes_of_raw_tcp_are_patched_and_a_new_connection_is_live(rootless: Desk) -> None:
    heard: list[bytes] = []
    prefix = [b""]

    def serve(connection: object) -> None:
        while data := connection.recv(100):  # type: ignore[attr-defined]
            heard.append(data)
            connection.sendall(prefix[0] + data)  # type: ignore[attr-defined]

    rootless.write("agent.py", RAW)
    with raw_server(serve) as server:
        policy = (
            '[[allow]]\nhost = "service.example"\nport = 7000\nprotocol = "tcp"\n'
            f'upstream = "{server.address}"\nmay_reexecute = true\n'
        )
        option = f"-policy={rootless.write('policy.toml', policy)}"
        ok(rootless.run(option, "--", "python3", "agent.py"))
        passed = [(seq, one) for seq, one in numbers(rootless, "TunnelData") if one["data"]]
        at = [seq for seq, one in passed if not one["from_agent"]][1]
        asked = next(seq for seq, one in passed if one["from_agent"])
        prefix[0] = b"live "
        heard.clear()
        patch = rootless.write("p.json", '{"replace": "two", "with": "2"}')
        nothing = rootless.write("n.json", '{"body": ""}')
        for words, why in (
            (("-at", asked), "in the middle of a raw connection"),
            (("-at", at, "-patch", nothing), "raw TCP has no empty message"),
        ):
            assert why in fork(rootless, *words, option).stderr
        ended = ok(fork(rootless, "-at", at, "-patch", patch, option))
    said = told(ended.stdout)
    assert said == {"one": "b'one'", "two": "b'2'", "three": "ended", "new": "b'live new'"}
    assert heard == [b"new"]
    replays_equal(rootless, ended.stdout)
