"""Raw connections played back: the agent's bytes as recorded, or the replay ends at the byte that differs."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hark.bundle.events import EgressAttempt, TunnelData
from hark.policy.model import Policy
from hark.replay.recorded import Frame
from mediator.playback.clock import always_idle
from tests.fakes.raw import Serve, echo, raw_server, rudely
from tests.mediator.playback.rig import Played, changed, equal, frames_of, playing, recording
from tests.mediator.rig import API, Rig, running
from tests.mediator.test_tunnel import PORT, RULE, ends, open_one

POLICY = Policy(source="test", allow=(RULE,))
type Agent = Callable[[Rig], object]


def recorded(path: Path, serve: Serve, agent: Agent, count: int = 1) -> tuple[list[Frame], object]:
    """Record what an agent does with a server; return the recording and what the agent saw."""
    with (
        recording(path) as recorder,
        raw_server(serve) as server,
        running(rules=(RULE,), upstreams={API: server.address}, recorder=recorder) as rig,
    ):
        seen = agent(rig)
        settled(rig, count)
    return frames_of(path), seen


def settled(rig: Rig, count: int = 1) -> None:
    """Wait for so many connections to end in both directions."""
    seen = 1
    while sum(event.end for event in rig.recorder.of(TunnelData)) < 2 * count:
        rig.recorder.wait_for(TunnelData, seen)
        seen += 1


@contextmanager
def played(frames: list[Frame], **more: object) -> Iterator[Played]:
    """Play a recording to an agent."""
    with playing(frames, policy=POLICY, **more) as one:  # type: ignore[arg-type]
        yield one


def assert_equal(frames: list[Frame], agent: Agent, seen: object, count: int = 1) -> None:
    """Play it to the same agent, which must see the same, and do the same by the digest."""
    with played(frames) as one:
        assert agent(one.rig) == seen
        settled(one.rig, count)
        assert one.diverged == []
        report = one.playback.report()
        assert (report.dials, report.unconsumed) == (0, ())
        assert equal(frames, one)


def exactly(sock: socket.socket, size: int) -> bytes:
    """Read so many bytes."""
    data = b""
    while len(data) < size and (piece := sock.recv(size - len(data))):
        data += piece
    return data


def politely(rig: Rig) -> list[bytes]:
    """Ask twice, in pieces, half-close and read to the end."""
    with open_one(rig) as sock:
        seen = []
        for piece in (b"one", b"two!"):
            sock.sendall(piece)
            seen.append(exactly(sock, len(piece)))
        sock.shutdown(socket.SHUT_WR)
        seen.append(sock.recv(10))
        return seen


def in_one_piece(rig: Rig) -> list[bytes]:
    """Do the same as `politely`, in pieces of one byte."""
    with open_one(rig) as sock:
        seen = []
        for piece in (b"one", b"two!"):
            for byte in piece:
                sock.sendall(bytes((byte,)))
            seen.append(exactly(sock, len(piece)))
        sock.shutdown(socket.SHUT_WR)
        seen.append(sock.recv(10))
        return seen


def greeting(sock: socket.socket) -> None:
    """Speak first, as SSH and SMTP do."""
    sock.sendall(b"220 hello\r\n")
    name = sock.recv(100)
    sock.sendall(b"250 " + name)
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(100):
        pass


def greeted(rig: Rig) -> list[bytes]:
    with open_one(rig) as sock:
        first = exactly(sock, 11)
        sock.sendall(b"me\r\n")
        return [first, exactly(sock, 8), sock.recv(10)]


def test_bytes_come_back_and_how_the_agent_cuts_its_own_does_not_count(tmp_path: Path) -> None:
    frames, seen = recorded(tmp_path / "run.hark", echo, politely)
    assert seen == [b"one", b"two!", b""]
    assert_equal(frames, politely, seen)
    assert_equal(frames, in_one_piece, seen)


def test_a_server_that_speaks_first_does_so_again_and_half_closes(tmp_path: Path) -> None:
    frames, seen = recorded(tmp_path / "run.hark", greeting, greeted)
    assert seen == [b"220 hello\r\n", b"250 me\r\n", b""]
    assert_equal(frames, greeted, seen)


def test_another_byte_of_the_agents_ends_the_replay_there(tmp_path: Path) -> None:
    frames, _ = recorded(tmp_path / "run.hark", echo, politely)
    with played(frames) as one, open_one(one.rig) as sock:
        sock.sendall(b"one")
        assert exactly(sock, 3) == b"one"
        sock.sendall(b"twO!")
        why = one.wait_diverged()
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(1)
    assert why.kind == "difference"
    assert f"in the raw TCP connection to {API}:{PORT} differs: byte 5 is 0x4f, and was 0x6f" in why.words


def test_more_and_less_than_was_recorded_are_differences(tmp_path: Path) -> None:
    frames, _ = recorded(tmp_path / "run.hark", echo, politely)
    with played(frames) as one, open_one(one.rig) as sock:
        sock.sendall(b"onetwo! and more")
        assert "9 bytes more than the 7 that were recorded" in one.wait_diverged().words
    with played(frames) as one, open_one(one.rig) as sock:
        sock.sendall(b"onetw")
        sock.shutdown(socket.SHUT_WR)
        assert "after 5 of 7 recorded bytes" in one.wait_diverged().words


def test_a_byte_of_the_recording_changed_dropped_or_swapped_is_no_equal_replay(tmp_path: Path) -> None:
    frames, seen = recorded(tmp_path / "run.hark", echo, politely)
    mine = [
        at for at, frame in enumerate(frames) if getattr(frame.event, "data", b"") and frame.event.from_agent
    ]
    spoiled = changed(
        frames,
        TunnelData,
        lambda event: event._replace(data=b"onE"),
        1,  # type: ignore[attr-defined]
    )
    dropped = [frame for at, frame in enumerate(frames) if at != mine[0]]
    one, two = (frames[at].event for at in mine)
    other = list(frames)
    other[mine[0]] = frames[mine[0]]._replace(event=two)
    other[mine[1]] = frames[mine[1]]._replace(event=one)
    for tampered in (spoiled, dropped, other):
        with played(tampered) as again, contextlib.suppress(OSError), open_one(again.rig) as sock:
            sock.sendall(b"one")
            assert again.wait_diverged().kind == "difference"
    assert seen == [b"one", b"two!", b""]


def test_a_connection_that_was_not_made_is_named_and_one_too_many_is_a_difference(tmp_path: Path) -> None:
    frames, _ = recorded(tmp_path / "run.hark", echo, politely)
    with played(frames) as one:
        assert f"the raw TCP connection to {API}:{PORT}" in one.playback.report().unconsumed[0]
    with played(frames) as one:
        politely(one.rig)
        with open_one(one.rig):
            assert "it is made once more than the 1 times" in one.wait_diverged().words


def test_a_reset_and_a_refused_connection_come_again_in_the_same_words(tmp_path: Path) -> None:
    def hurt(rig: Rig) -> list[object]:
        seen: list[object] = []
        try:
            with open_one(rig) as sock:  # which a refusal may come before, or before what is said
                sock.sendall(b"please")
                while piece := sock.recv(100):
                    seen.append(piece)
                seen.append("end")
        except ConnectionResetError:
            seen.append("reset")
        return seen

    frames, seen = recorded(tmp_path / "run.hark", rudely, hurt)
    assert "reset" in seen  # type: ignore[operator]
    assert_equal(frames, hurt, seen)

    path = tmp_path / "refused.hark"
    with socket.create_server(("127.0.0.1", 0)) as gone:
        place = f"127.0.0.1:{gone.getsockname()[1]}"
    with (
        recording(path) as recorder,
        running(rules=(RULE,), upstreams={API: place}, recorder=recorder) as rig,
    ):
        seen = hurt(rig)
        error = ends(rig)[True].error
    assert error.startswith("no connection: ")
    with played(frames_of(path)) as one:
        assert hurt(one.rig) == seen
        settled(one.rig)
        assert ends(one.rig)[True].error == error
        assert one.diverged == []
        assert one.playback.report().unconsumed == ()


def test_an_agent_that_resets_does_so_again_and_what_comes_after_waits_for_it(tmp_path: Path) -> None:
    def leaves(rig: Rig) -> bytes:
        sock = open_one(rig)
        sock.sendall(b"hello")
        got = exactly(sock, 5)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        sock.close()
        return got

    frames, seen = recorded(tmp_path / "run.hark", echo, leaves)
    assert_equal(frames, leaves, seen)


def test_connections_to_one_place_are_told_apart_by_what_is_said_first(tmp_path: Path) -> None:
    def two(order: tuple[bytes, bytes]) -> Agent:
        def agent(rig: Rig) -> dict[bytes, bytes]:
            with open_one(rig) as first, open_one(rig) as second:
                rig.recorder.wait_for(EgressAttempt, 2)
                for sock, words in zip((first, second), order, strict=True):
                    sock.sendall(words)
                found = {words: exactly(sock, 8) for sock, words in zip((first, second), order, strict=True)}
                for sock in (first, second):
                    sock.shutdown(socket.SHUT_WR)
                return found

        return agent

    def names(sock: socket.socket) -> None:
        sock.sendall(b"to " + sock.recv(100))
        while sock.recv(100):
            pass

    here = two((b"alpha", b"bravo"))
    frames, seen = recorded(tmp_path / "run.hark", names, here, 2)
    assert seen == {b"alpha": b"to alpha", b"bravo": b"to bravo"}
    with played(frames, idle=always_idle) as one:
        assert two((b"bravo", b"alpha"))(one.rig) == seen
        settled(one.rig, 2)
        assert one.diverged == []
        assert one.playback.report().unconsumed == ()
