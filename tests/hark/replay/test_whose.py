"""Whose an action was is what the record has of its connection, and nothing else."""

import pytest

from hark.bundle import events as ev
from hark.bundle.events import Event
from hark.replay.actions import actions
from hark.replay.whose import Process, whose

ATTEMPTS = (
    ev.EgressAttempt("api.example", 443, "tls", "", 3, "/usr/bin/curl", ("curl", "a")),
    ev.EgressDecision("api.example", allowed=True),
    ev.EgressAttempt("api.example", 22, "tcp", "", 4, "/usr/bin/ssh", ("ssh\x1b[31m",)),
    ev.EgressDecision("api.example", allowed=False),
)
TALKS = (
    ev.LlmRequest("api.example", "GET", "/", exchange=1, process=3),
    ev.WebSocketMessage(1, 0, from_agent=True, type="text", data=b"hello"),
    ev.LlmResponseEnd(101, exchange=1),
    ev.TunnelData(2, 0, from_agent=True, host="db.example:5432", process=4),
    ev.TunnelData(2, 0, from_agent=False, data=b"hello", end=True),
    ev.McpMessage("tool", 3, 0, from_agent=True, data=b"{}", process=3),
    ev.ToolCallRequest("tool", "look", b"{}", exchange=4),
    ev.FileResult("a", 0o644, bytes(32)),
    ev.LlmRequest("api.example", "GET", "/old", exchange=5),
)


def found(*events: Event) -> dict[str, Process | None]:
    """Whose each action is, by its title."""
    frames = [(seq, seq, event) for seq, event in enumerate(events)]
    streams = actions(frames).actions.values()
    return {action.title: whose(frames, action) for stream in streams for action in stream}


def test_every_action_of_a_connection_is_its_processs() -> None:
    curl, ssh = Process(3, "/usr/bin/curl", ("curl", "a")), Process(4, "/usr/bin/ssh", ("ssh\x1b[31m",))
    assert found(*ATTEMPTS, *TALKS) == {
        "connection tls to api.example port 443": curl,
        "denied tcp to api.example port 22": ssh,
        "request GET api.example/": curl,
        "websocket GET api.example/, of the agent": curl,
        "tunnel db.example:5432 #1, of the agent": ssh,
        "tunnel db.example:5432 #1, of the server": ssh,
        "mcp tool #1, of the agent": curl,
        "tool tool look calls": curl,
        "file a": None,
        "request GET api.example/old": None,
    }


def test_the_number_stands_alone_where_no_attempt_says_more() -> None:
    (process,) = found(TALKS[0]).values()
    assert process == Process(3)
    assert str(process) == "process 3"


@pytest.mark.attack
def test_what_a_program_calls_itself_is_safe_to_print() -> None:
    process = found(*ATTEMPTS)["denied tcp to api.example port 22"]
    assert process is not None
    assert "\x1b" not in str(process)
    assert "\x1b" not in str(process.to_json())
