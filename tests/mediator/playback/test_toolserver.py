"""Tool servers played back: no process is started, and what the agent says is compared message by message."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hark.bundle.events import McpMessage, ToolCallRequest, ToolCallResult
from hark.replay.recorded import Frame
from mediator.mcp.program import Program
from tests.mediator.mcp.rig import Client, call, program, text_of
from tests.mediator.playback.rig import changed, equal, frames_of, playing, recording
from tests.mediator.rig import Rig, running

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
NOWHERE = "/nowhere/no-such-program"

type Agent = Callable[[Client], object]


def attended(rig: Rig, agents: tuple[Agent, ...]) -> list[object]:
    """Connect one agent after the other, and wait until each connection is over."""
    seen = []
    for number, agent in enumerate(agents):
        client = Client(rig)
        seen.append(agent(client))
        client.close()
        for count in range(1, 1000):
            if sum(not one.data for one in rig.recorder.of(McpMessage)) > number:
                break
            rig.recorder.wait_for(McpMessage, count)
    return seen


def recorded(path: Path, *agents: Agent, server: Program | None = None) -> tuple[list[Frame], list[object]]:
    with recording(path) as recorder, running(mcp=(server or program(),), recorder=recorder) as rig:
        seen = attended(rig, agents)
    return frames_of(path), seen


def assert_equal(frames: list[Frame], seen: list[object], *agents: Agent, tools: Any = None) -> None:
    nothing = program(argv=(NOWHERE,), tools=tools)
    with playing(frames, mcp=(nothing,)) as played:
        assert attended(played.rig, agents) == seen
        assert played.diverged == []
        report = played.playback.report()
        assert (report.unconsumed, report.dials) == ((), 0)
        assert equal(frames, played)
        for kind in (ToolCallRequest, ToolCallResult):
            was = [frame.event for frame in frames if isinstance(frame.event, kind)]
            assert played.rig.recorder.of(kind) == was


def talk(client: Client) -> list[object]:
    """Shake hands, list, and call twice; then end the input and read to the end."""
    seen = [client.ask(HELLO), client.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})]
    seen += [text_of(client.call("echo", 2, a="ä")), text_of(client.call("echo", "three", b=[1]))]
    client.done()
    seen.append(client.receive())
    return seen


def test_messages_come_back_in_order_and_no_server_is_started(tmp_path: Path) -> None:
    frames, seen = recorded(tmp_path / "run.hark", talk)
    assert_equal(frames, seen, talk)


def test_the_spelling_of_json_does_not_count_and_an_id_counts_by_value(tmp_path: Path) -> None:
    def spelled(client: Client) -> list[object]:
        seen = [client.ask(HELLO), client.ask(b'{"method":"tools/list","id":1, "jsonrpc":"2.0"}\n')]
        seen += [text_of(client.call("echo", 2, a="ä")), text_of(client.call("echo", "three", b=[1]))]
        client.done()
        seen.append(client.receive())
        return seen

    frames, seen = recorded(tmp_path / "run.hark", talk)
    assert_equal(frames, seen, spelled)
    with playing(frames, mcp=(program(argv=(NOWHERE,)),)) as played:
        client = Client(played.rig)
        client.ask(HELLO)
        client.send({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
        why = played.wait_diverged()
        client.close()
    assert why.kind == "difference"
    assert why.words.startswith("what the agent says in the connection to mcp.fake differs: message 2 is ")


def test_connections_one_after_the_other_and_two_at_once_get_their_own(tmp_path: Path) -> None:
    def one(client: Client) -> list[object]:
        return [client.ask(HELLO), text_of(client.call("echo", 1, a=1))]

    def two(client: Client) -> list[object]:
        return [client.ask(HELLO), text_of(client.call("echo", 1, b=2))]

    frames, seen = recorded(tmp_path / "run.hark", one, two)
    assert_equal(frames, seen, one, two)


@pytest.mark.parametrize("fault", ["exit", "junk", "refused", "missing"])
def test_what_went_wrong_goes_wrong_again_in_the_same_words(tmp_path: Path, fault: str) -> None:
    def ask(client: Client) -> list[object]:
        seen = [client.ask(call("delete" if fault == "refused" else fault, 1))]
        if fault != "refused":
            seen.append(client.receive())
        return seen

    tools = ("echo",) if fault == "refused" else None
    server = program(argv=(NOWHERE,)) if fault == "missing" else program(tools=tools)
    frames, seen = recorded(tmp_path / "run.hark", ask, server=server)
    assert "error" in seen[0][0]  # type: ignore[index]
    assert_equal(frames, seen, ask, tools=tools)


def test_a_message_changed_dropped_or_swapped_is_no_equal_replay(tmp_path: Path) -> None:
    def calls(*numbers: int) -> Agent:
        def agent(client: Client) -> object:
            return [text_of(client.call("echo", number, n=number)) for number in numbers]

        return agent

    frames, _ = recorded(tmp_path / "run.hark", calls(1, 2, 3))
    for numbers in ((1, 3), (2, 1, 3), (1, 2, 3, 4)):
        with playing(frames, mcp=(program(argv=(NOWHERE,)),)) as played:
            client = Client(played.rig)
            for number in numbers:
                client.send(call("echo", number, n=number))
            assert played.wait_diverged().kind == "difference"
            client.close()
    with playing(frames, mcp=(program(argv=(NOWHERE,)),), stall_s=1.0) as played:
        client = Client(played.rig)
        calls(1, 2)(client)
        client.close()
        why = played.wait_diverged()
    assert (why.kind, "a message of the agent's in the connection to mcp.fake" in why.words) == (
        "stall",
        True,
    )

    def other(event: Any) -> Any:
        return event._replace(data=event.data.replace(b'{\\"n\\": 1}', b'{\\"n\\": 9}'))

    spoiled = changed(frames, McpMessage, other, 1)
    with playing(spoiled, mcp=(program(argv=(NOWHERE,)),)) as played:
        client = Client(played.rig)
        assert json.loads(text_of(client.call("echo", 1, n=1))) == {"n": 9}
        client.close()
