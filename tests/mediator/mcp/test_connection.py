"""A connection to a tool server, with a real process behind it."""

import json
import os
from pathlib import Path

import pytest

from hark.bundle.events import McpMessage, ToolCallRequest, ToolCallResult
from mediator.mcp import connection, lines
from tests.mediator.mcp.rig import Client, call, door, messages, program, text_of
from tests.mediator.rig import Rig, secret
from tests.support.waiting import until

VALUE = "sk-real-5e884898da28047151d0"
PLACEHOLDER = "sk-harkAbCdEfGhIjKlMnOpQrStUv"


def ends(rig: Rig) -> list[str]:
    return [one.note for one in rig.recorder.of(McpMessage) if not one.data]


def ended(rig: Rig) -> str:
    """Return how the connection ended, once it has."""
    until(lambda: ends(rig))
    return ends(rig)[0]


def test_messages_pass_both_ways_and_all_of_them_are_recorded() -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    with door() as (rig, client):
        answer = client.ask(hello)
        assert answer["result"]["serverInfo"]["name"] == "fake"
        assert text_of(client.call("echo", 1, a="ä")) == json.dumps({"a": "ä"})
        client.done()
        assert client.receive() is None
        assert ended(rig) == ""
    recorded = messages(rig)
    assert [json.loads(data)["id"] for _, data, _ in recorded[:-1]] == [0, 0, 1, 1]
    assert [side for side, _, _ in recorded] == [True, False, True, False, False]
    assert [one.seq for one in rig.recorder.of(McpMessage)] == [0, 1, 2, 3, 4]
    (asked,) = rig.recorder.of(ToolCallRequest)
    (result,) = rig.recorder.of(ToolCallResult)
    assert (asked.server, asked.tool, json.loads(asked.arguments)) == ("fake", "echo", {"a": "ä"})
    assert (result.exchange, result.is_error) == (asked.exchange, False)
    assert json.loads(result.result) == answer_of(recorded[3][1])
    assert rig.fatal == []


def answer_of(line: str) -> object:
    return json.loads(line)["result"]


def test_a_denied_call_does_not_reach_the_server_and_the_next_one_does(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with door(program(tools=("echo",), env={"SEEN": str(seen)})) as (rig, client):
        refused = client.call("delete", 7)
        assert refused["id"] == 7
        assert 'allow_tools = ["delete"]' in refused["error"]["message"]
        assert text_of(client.call("echo", 8)) == "{}"
        warnings = rig.mediator.summary().warnings
    assert "delete" not in seen.read_text()
    assert "echo" in seen.read_text()
    assert [one.tool for one in rig.recorder.of(ToolCallRequest)] == ["delete", "echo"]
    assert [one.is_error for one in rig.recorder.of(ToolCallResult)] == [True, False]
    assert any("delete" in line and "mcp.fake" in line for line in warnings)
    refusals = [note for side, _, note in messages(rig) if side and note]
    assert refusals == ['refused: tool "delete" is not in allow_tools']


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b'{"id":1,"method":"ping","method":"tools/call"}\n', "twice"),
        (b'{"a":\r{"id":1,"method":"tools/call","params":{"name":"delete"}}\r}\n', "carriage return"),
        (b"hello\n", "not JSON"),
        (b"\xff\xfe{\x00}\x00\n", "UTF-8"),
    ],
)
def test_what_cannot_be_read_ends_the_connection_in_words(sent: bytes, why: str, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with door(program(env={"SEEN": str(seen)})) as (rig, client):
        client.send(sent)
        assert why in client.receive()["error"]["message"]
        assert client.receive() is None
        assert why in ended(rig)
    assert not seen.exists()


def test_a_message_without_an_end_is_not_held_beyond_its_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_FROM_AGENT", 1000)
    with door() as (rig, client):
        client.send(b"x" * 1001)
        assert "longer than 1000 bytes" in client.receive()["error"]["message"]
        assert "longer" in ended(rig)


def test_a_message_that_the_agent_cuts_short_is_not_passed(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with door(program(env={"SEEN": str(seen)})) as (_, client):
        client.send(json.dumps(call("echo")).encode())
        client.done()
        assert "no end" in client.receive()["error"]["message"]
    assert not seen.exists()


def test_the_answer_to_a_client_that_asks_and_closes_still_comes() -> None:
    with door() as (_, client):
        client.send(call("echo", 5, b=1))
        client.done()
        assert client.receive()["id"] == 5
        assert client.receive() is None


@pytest.mark.parametrize("form", ["plain", "base64", "escaped"])
def test_a_credential_does_not_reach_the_agent_or_the_record(form: str) -> None:
    held = (secret(VALUE, name="TOKEN of mcp.fake"),)
    with door(program(env={"TOKEN": VALUE}), held) as (rig, client):
        answer = client.call("leak", name="TOKEN", form=form)
        assert "TOKEN of mcp.fake" in answer["error"]["message"]
        assert client.receive() is None
        assert "away" in ended(rig)
    assert VALUE.encode() not in rig.recorder.bytes()
    assert rig.fatal == []


def test_without_the_search_it_does() -> None:
    with door(program(env={"TOKEN": VALUE})) as (_, client):
        assert text_of(client.call("leak", name="TOKEN")) == VALUE


def test_a_placeholder_is_not_passed_to_a_server() -> None:
    with door(secrets=(secret(VALUE, "api.example.test"),)) as (_, client):
        answer = client.call("echo", 3, key=PLACEHOLDER)
        assert answer["id"] == 3
        assert "API_KEY" in answer["error"]["message"]
        assert text_of(client.call("echo", 4)) == "{}"


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [("junk", {}, "not JSON"), ("exit", {"code": 3}, "exit code 3"), ("long", {"size": 2000}, "longer than")],
)
def test_a_server_that_fails_ends_the_connection_in_words(
    tool: str, arguments: dict[str, int], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_FROM_SERVER", 1000)
    with door() as (rig, client):
        assert why in client.call(tool, **arguments)["error"]["message"]
        assert client.receive() is None
        assert why in ended(rig)
        assert any(why in line for line in rig.mediator.summary().warnings)


def test_a_servers_last_words_are_told_unless_a_credential_is_in_them() -> None:
    held = (secret(VALUE, name="TOKEN of mcp.fake"),)
    with door(program(env={"TOKEN": VALUE}), held) as (rig, client):
        client.call("exit", words="no such database\x1b[31m")
        ended(rig)
        (told,) = rig.mediator.summary().warnings
        assert "no such database\\e[31m" in told
    with door(program(argv=("/bin/sh", "-c", f"echo {VALUE} >&2; exit 4")), held) as (rig, client):
        client.call("echo")
        ended(rig)
        (told,) = rig.mediator.summary().warnings
        assert told.endswith("exit code 4")


def test_a_server_that_is_not_there_is_said() -> None:
    with door(program(argv=("/no/such/server",))) as (rig, client):
        assert "exit code 127" in client.call("echo")["error"]["message"]
        ended(rig)
        assert "/no/such/server" in rig.mediator.summary().warnings[0]


def test_a_server_is_not_started_before_a_message_passes(tmp_path: Path) -> None:
    started = tmp_path / "started"
    one = program(tools=(), argv=("/bin/sh", "-c", f"touch {started}; cat"))
    with door(one) as (rig, client):
        client.call("echo")
        client.done()
        assert ended(rig) == ""
        assert not started.exists()


def test_nothing_of_a_server_outlives_its_connection() -> None:
    with door() as (rig, client):
        orphan = int(text_of(client.call("orphan")))
        assert os.path.exists(f"/proc/{orphan}")
        client.done()
        ended(rig)
        assert not os.path.exists(f"/proc/{orphan}")


def test_a_server_that_hangs_and_minds_no_signal_ends_with_the_run(tmp_path: Path) -> None:
    script = f"trap '' TERM; read x; echo $$ > {tmp_path}/pid; while :; do sleep 1000; done"
    with door(program(argv=("/bin/sh", "-c", script))) as (rig, client):
        client.send(call("echo"))
        written = tmp_path / "pid"
        until(lambda: written.exists() and written.read_text().endswith("\n"))
        pid = int(written.read_text())
        rig.mediator.stop()
        assert ended(rig) == "the run ended"
        assert not os.path.exists(f"/proc/{pid}")
    assert rig.fatal == []


def test_what_cannot_be_recorded_is_not_passed(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with door(program(env={"SEEN": str(seen)})) as (rig, client):
        client.call("echo")
        rig.recorder.fail_at = rig.recorder.appends + 1
        client.send(call("delete", 2))
        with pytest.raises(ConnectionResetError):
            client.receive()
    assert "delete" not in seen.read_text()
    assert rig.fatal


def test_two_connections_have_a_server_each() -> None:
    with door() as (rig, client):
        other = Client(rig)
        assert text_of(client.call("echo", 1)) == text_of(other.call("echo", 1)) == "{}"
        other.close()
    assert len({one.connection for one in rig.recorder.of(McpMessage)}) == 2


def test_the_ceilings_leave_room_for_pictures() -> None:
    assert lines.MAX_FROM_AGENT < lines.MAX_FROM_SERVER < 64 << 20
