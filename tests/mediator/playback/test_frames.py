"""WebSockets played back to a real client: the server's messages in their order, none before the agent's."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.server import ServerConnection

from hark.bundle.events import LlmResponseEnd, WebSocketMessage
from hark.replay.pieces import Message
from hark.replay.recorded import Frame
from mediator import handshake
from mediator.playback.frames import Frames
from tests.mediator.playback.rig import changed, equal, frames_of, playing, recording
from tests.mediator.rig import API, PLACEHOLDER, VALUE, Rig, raw, secret
from tests.mediator.test_talking import HANDSHAKE, Talk, client, echo, talking

type Agent = Callable[[Rig], object]


def recorded(path: Path, talk: Talk, agent: Agent, count: int = 1, **more: Any) -> tuple[list[Frame], object]:
    """Record an agent's talk; return the recording and what the agent saw."""
    with recording(path) as recorder, talking(talk, recorder=recorder, **more) as rig:
        seen = agent(rig)
        rig.recorder.wait_for(LlmResponseEnd, count)
    return frames_of(path), seen


def assert_equal(frames: list[Frame], agent: Agent, seen: object, count: int = 1, **more: Any) -> None:
    """Play it back: the agent sees the same, and the digest finds no difference."""
    with playing(frames, API, **more) as played:
        assert agent(played.rig) == seen
        played.rig.recorder.wait_for(LlmResponseEnd, count)
        assert played.diverged == []
        report = played.playback.report()
        assert (report.unconsumed, report.dials) == ((), 0)
        assert equal(frames, played)


def chat(rig: Rig) -> list[object]:
    """Talk as programs do: text, bytes, nothing, a long message, JSON spelled anyhow, and a ping."""
    with client(rig) as opened:
        seen: list[object] = []
        for message in ("hello", b"\x00\xff", "", "x" * 70_000, '{"a": 1, "b": [2]}'):
            opened.send(message)
            seen.append(opened.recv())
        seen.append(opened.ping(os.urandom(4)).wait(60))
        opened.send(["he", "ll", "o"])
        seen.append(opened.recv())
        return seen


def test_a_client_with_another_key_gets_every_message_and_its_own_pongs(tmp_path: Path) -> None:
    frames, seen = recorded(tmp_path / "run.hark", echo, chat)
    assert_equal(frames, chat, seen)


def test_json_that_is_spelled_otherwise_is_the_same_message(tmp_path: Path) -> None:
    def saying(text: str) -> Agent:
        def agent(rig: Rig) -> object:
            with client(rig) as opened:
                opened.send(text)
                return opened.recv()

        return agent

    frames, seen = recorded(tmp_path / "run.hark", echo, saying('{"a": 1, "b": 2}'))
    assert_equal(frames, saying('{"b":2,"a":1}'), seen)


def test_a_server_that_talks_first_waits_for_what_the_agent_said_in_between(tmp_path: Path) -> None:
    def talkative(server: ServerConnection) -> None:
        server.send("one")
        server.send("two")
        assert server.recv() == "enough?"
        server.send("three")
        server.close(4321, "enough")

    def listen(rig: Rig) -> list[object]:
        with client(rig) as opened:
            seen: list[object] = [opened.recv(), opened.recv()]
            with pytest.raises(TimeoutError):
                opened.recv(timeout=0.3)
            opened.send("enough?")
            seen.append(opened.recv())
            with pytest.raises(ConnectionClosed) as closed:
                opened.recv()
            assert closed.value.rcvd is not None
            return [*seen, closed.value.rcvd.code, closed.value.rcvd.reason]

    frames, seen = recorded(tmp_path / "run.hark", talkative, listen)
    assert seen == ["one", "two", "three", 4321, "enough"]
    assert_equal(frames, listen, seen)


def test_a_long_message_comes_in_its_recorded_pieces(tmp_path: Path) -> None:
    def long(rig: Rig) -> object:
        with client(rig) as opened:
            opened.send("y" * 3_000_000)
            return opened.recv()

    frames, seen = recorded(tmp_path / "run.hark", echo, long)
    pieces = [
        len(frame.event.data)
        for frame in frames
        if isinstance(frame.event, WebSocketMessage) and not frame.event.from_agent
    ]
    with playing(frames, API) as played:
        assert long(played.rig) == seen
        played.rig.recorder.wait_for(LlmResponseEnd)
        again = [
            len(event.data) for event in played.rig.recorder.of(WebSocketMessage) if not event.from_agent
        ]
        assert equal(frames, played)
    assert len(pieces) > 2
    assert again == pieces


def test_several_at_once_each_get_their_own(tmp_path: Path) -> None:
    def three(rig: Rig) -> list[object]:
        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(client(rig)) for _ in range(3)]
            seen: list[object] = []
            for turn in range(3):
                for number, one in enumerate(opened):
                    one.send(f"{number} {turn}")
                seen.extend(one.recv() for one in opened)
            return seen

    frames, seen = recorded(tmp_path / "run.hark", echo, three, 3)
    assert_equal(frames, three, seen, 3)


def test_a_connection_that_was_cut_by_either_side_is_cut_again(tmp_path: Path) -> None:
    def drop(server: ServerConnection) -> None:
        server.send("bye")
        server.recv()
        server.socket.close()

    def cut(rig: Rig) -> list[object]:
        with client(rig) as opened:
            seen: list[object] = [opened.recv()]
            opened.send("and now?")
            with pytest.raises(ConnectionClosed) as closed:
                opened.recv()
            return [*seen, closed.value.rcvd is None]

    def leave(rig: Rig) -> int:
        with rig.tls(API) as sock:
            sock.sendall(HANDSHAKE.encode())
            return int(sock.recv(4096).split(b" ")[1])

    for name, talk, agent in (("server", drop, cut), ("agent", echo, leave)):
        frames, seen = recorded(tmp_path / f"{name}.hark", talk, agent)
        error = next(frame.event.error for frame in frames if isinstance(frame.event, LlmResponseEnd))
        assert error == f"the {name} went away without the closing handshake"
        assert_equal(frames, agent, seen)


def test_a_message_that_was_refused_is_refused_again_without_the_secret(tmp_path: Path) -> None:
    def tell(rig: Rig) -> list[object]:
        with client(rig) as opened:
            opened.send("fine")
            seen: list[object] = [opened.recv()]
            opened.send(f"my key is {PLACEHOLDER}")
            with pytest.raises(ConnectionClosed) as closed:
                opened.recv()
            assert closed.value.rcvd is not None
            return [*seen, closed.value.rcvd.code, closed.value.rcvd.reason]

    frames, seen = recorded(tmp_path / "run.hark", echo, tell, secrets=(secret(VALUE, API),))
    assert_equal(frames, tell, seen, secrets=(secret("Other-Value-0123456789abcdef", API),))


def test_a_server_that_gave_a_secret_away_is_ended_in_the_same_words(tmp_path: Path) -> None:
    def leak(server: ServerConnection) -> None:
        server.recv()
        with contextlib.suppress(ConnectionClosed):
            server.send("a" + VALUE[:10])
            server.send(VALUE[10:])

    def ask(rig: Rig) -> list[object]:
        with client(rig) as opened:
            opened.send("go")
            with pytest.raises(ConnectionClosed) as closed:
                "".join(map(str, iter(opened.recv, None)))
            assert closed.value.rcvd is not None
            return [closed.value.rcvd.code, closed.value.rcvd.reason]

    frames, seen = recorded(tmp_path / "run.hark", leak, ask, secrets=(secret(VALUE, API),))
    assert_equal(frames, ask, seen)


def test_an_agent_that_breaks_the_framing_hears_the_same_code(tmp_path: Path) -> None:
    def broken(rig: Rig) -> bytes:
        with rig.tls(API) as sock:
            sock.sendall(HANDSHAKE.encode())
            assert b"101 " in sock.recv(4096)
            return raw(sock, b"\x81\x05hello")

    frames, seen = recorded(tmp_path / "run.hark", list, broken)
    assert_equal(frames, broken, seen)


def test_a_handshake_that_was_declined_is_declined_again(tmp_path: Path) -> None:
    def decline(connection: ServerConnection, _request: object) -> object:
        return connection.respond(429, "slow down\n")

    def ask(rig: Rig) -> int:
        with pytest.raises(InvalidStatus) as declined, client(rig):
            pass
        return declined.value.response.status_code

    frames, seen = recorded(tmp_path / "run.hark", echo, ask, process_request=decline)
    assert seen == 429
    assert_equal(frames, ask, seen)


def test_a_message_changed_dropped_swapped_or_added_is_no_equal_replay(tmp_path: Path) -> None:
    def says(*words: str, patience: float = 60.0) -> Agent:
        def agent(rig: Rig) -> object:
            with client(rig, close_timeout=0.2) as opened:
                for word in words:
                    opened.send(word)
                    with contextlib.suppress(TimeoutError):
                        opened.recv(timeout=patience)

        return agent

    frames, _ = recorded(tmp_path / "run.hark", echo, says("one", "two"))
    for words in (("one", "twO"), ("two", "one"), ("one", "two", "three"), ("two",)):
        with playing(frames, API) as played:
            with contextlib.suppress(ConnectionClosed):
                says(*words, patience=0.3)(played.rig)
            why = played.wait_diverged()
        assert why.kind == "difference"
        assert f"in the WebSocket GET {API}/talk differs" in why.words
    with playing(frames, API) as played:
        with contextlib.suppress(ConnectionClosed):
            says("one", patience=0.3)(played.rig)
        played.wait_diverged()
    spoiled = changed(frames, WebSocketMessage, lambda event: event._replace(data=b"ONE"), 1)
    with playing(spoiled, API) as played, client(played.rig, close_timeout=0.2) as opened:
        opened.send("one")
        assert opened.recv() == "ONE"


def test_what_a_message_differs_in_is_shown(tmp_path: Path) -> None:
    def says(word: str) -> Agent:
        def agent(rig: Rig) -> object:
            with client(rig, close_timeout=0.2) as opened:
                opened.send("first")
                opened.recv()
                opened.send(word)
                return None

        return agent

    frames, _ = recorded(tmp_path / "run.hark", echo, says("the weather in Rome"))
    with playing(frames, API) as played:
        with contextlib.suppress(ConnectionClosed):
            says("the weather in Bonn")(played.rig)
        words = played.wait_diverged().words
    assert "message 2 is " in words
    assert "Bonn" in words
    assert "Rome" in words


def test_frames_answer_the_agents_own_key_and_only_as_many_pings_as_were_answered() -> None:
    key = b"dGhlIHNhbXBsZSBub25jZQ=="
    asked = ((b"Upgrade", b"websocket"), (b"Sec-WebSocket-Key", key))
    frames = Frames.asked(asked)
    assert frames is not None
    assert Frames.asked(((b"Sec-WebSocket-Key", key),)) is None
    assert frames.accepting(((b"Sec-WebSocket-Accept", b"old"), (b"X", b"y"))) == (
        (b"Sec-WebSocket-Accept", handshake.accept(key)),
        (b"X", b"y"),
    )
    ping = b"\x89\x81\0\0\0\0p"
    assert list(frames.heard(ping)) == []
    frames.began(1)
    assert list(frames.heard(ping + ping)) == [b"\x8a\x01p"]
    assert frames.framed(Message("text", b"ab", more=True)) == b"\x01\x02ab"
    assert frames.framed(Message("ping", b"", more=False)) == b"\x89\x00"
    assert frames.framed(Message("text", b"c", more=False)) == b"\x80\x01c"
    assert list(frames.heard(b"\xff\xff")) == []
