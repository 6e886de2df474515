"""Who has a body of escapes searched keeps nobody else waiting: between slices of it others have their turn.

What is counted is how much text is looked at between two turns of the event loop, whatever time that takes.
"""

import asyncio
import contextlib
import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from hark.bundle.events import AGENT_LEFT, LlmResponseEnd
from hark.policy.model import Secret, Surface
from mediator import scan
from mediator.answering import MAX_PIECE
from mediator.sliced import SLICE, slices
from mediator.slices import Slices
from mediator.stream import Commands, Stream
from tests.fakes.raw import raw_server, read_all
from tests.fakes.upstream import Call
from tests.mediator.rig import API, PLACEHOLDER, VALUE, Rig, pair, plain, running, secret
from tests.mediator.test_http import Client
from tests.mediator.test_streaming import AGREED, ASK, RULE, head_of
from tests.mediator.test_talking import client, talking
from tests.mediator.test_tunnel import open_one, tunnelled
from tests.support.waiting import until

SIZE = 1 << 20
AT_ONCE = 8 * SLICE
"""A slice is looked at some times over, with what is held before it."""
UNITS = {
    "JSON": rb"\u0061",
    "percent": b"%61",
    "percent-twice": b"%2561",
    "entities": b"&#97;",
    "quoted-printable": b"=3D",
    "soft-breaks": b"a=\n",
    "lines": rb"a\n",
}


def text(unit: bytes = UNITS["percent"]) -> bytes:
    return unit * (SIZE // len(unit))


@dataclass
class Looked:
    """How much was looked at in each turn of the event loop."""

    most: int = 0
    turns: int = 0
    _now: int = field(default=0, repr=False)

    def look(self, data: bytes) -> None:
        self._now += len(data)
        self.most = max(self.most, self._now)

    async def count(self) -> None:
        while True:
            self.turns, self._now = self.turns + 1, 0
            await asyncio.sleep(0)


@contextmanager
def looking(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Iterator[Looked]:
    """Count what is looked at within the block."""
    loop, looked, normal = rig.mediator._loop, Looked(), scan.normal
    assert loop is not None

    def counted(data: bytes) -> bytes:
        looked.look(data)
        return normal(data)

    with monkeypatch.context() as patched:
        patched.setattr(scan, "normal", counted)
        counting = asyncio.run_coroutine_threadsafe(looked.count(), loop)
        yield looked
        counting.cancel()


def held(port: int = 443) -> tuple[Secret, ...]:
    return (secret(VALUE, f"{API}:{port}", surfaces=tuple(Surface)),)


def answered(monkeypatch: pytest.MonkeyPatch, body: bytes, *headers: tuple[str, str]) -> Looked:
    with plain(secrets=held(80)) as (rig, upstream):
        upstream.routes["/x"] = lambda call: call.reply(200, body, list(headers))
        with rig.http() as agent, looking(rig, monkeypatch) as looked:
            agent.request("GET", "/x")
            assert len(agent.getresponse().read()) > 0
    assert rig.fatal == []
    return looked


def packed_answer(monkeypatch: pytest.MonkeyPatch, unit: bytes = UNITS["percent"]) -> Looked:
    return answered(monkeypatch, gzip.compress(text(unit)), ("content-encoding", "gzip"))


def plain_answer(monkeypatch: pytest.MonkeyPatch) -> Looked:
    return answered(monkeypatch, text())


def packed_file(monkeypatch: pytest.MonkeyPatch) -> Looked:
    return answered(monkeypatch, gzip.compress(text()))


def packed_answer_over_h2(monkeypatch: pytest.MonkeyPatch) -> Looked:
    body = gzip.compress(text())
    with pair(secrets=held()) as (rig, upstream):
        upstream.routes["/x"] = lambda call: call.reply(200, body, [("content-encoding", "gzip")])
        with rig.tls(API, 443, None, "h2") as sock, looking(rig, monkeypatch) as looked:
            agent = Client(sock)
            (answer,) = agent.wait(agent.ask("/x"))
    assert (answer.status, gzip.decompress(answer.body)) == (200, text())
    return looked


def packed_request(monkeypatch: pytest.MonkeyPatch) -> Looked:
    with plain(secrets=held(80)) as (rig, upstream):
        with rig.http() as agent, looking(rig, monkeypatch) as looked:
            agent.request("POST", "/x", gzip.compress(text()), {"Content-Encoding": "gzip"})
            assert agent.getresponse().status == 200
        assert gzip.decompress(upstream.seen[-1].body) == text()
    return looked


def whole_request(monkeypatch: pytest.MonkeyPatch) -> Looked:
    body = text()[: -3 * len(PLACEHOLDER)]
    with plain(secrets=held(80)) as (rig, upstream):
        with rig.http() as agent, looking(rig, monkeypatch) as looked:
            agent.request("POST", "/x", body + PLACEHOLDER.encode())
            assert agent.getresponse().status == 200
        assert upstream.seen[-1].body == body + VALUE.encode()
    return looked


def message(monkeypatch: pytest.MonkeyPatch) -> Looked:
    said = text()[: SIZE - 1].decode()
    with talking(secrets=held()) as rig, client(rig) as agent, looking(rig, monkeypatch) as looked:
        agent.send(said)
        assert agent.recv() == said
    return looked


def upgraded(monkeypatch: pytest.MonkeyPatch) -> Looked:
    def serve(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(AGREED + text())
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)

    rules = (replace(RULE, ports=(80,)),)
    with (
        raw_server(serve) as server,
        running(rules=rules, secrets=held(80), upstreams={API: server.address}) as rig,
        rig.dial(rig.address(API), 80) as agent,
        looking(rig, monkeypatch) as looked,
    ):
        agent.sendall(ASK)
        assert read_all(agent).endswith(text())
    return looked


def raw_tcp(monkeypatch: pytest.MonkeyPatch) -> Looked:
    def serve(connection: socket.socket) -> None:
        connection.sendall(text())
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)

    with (
        tunnelled(serve, secrets=held()) as (rig, _),
        open_one(rig) as agent,
        looking(rig, monkeypatch) as looked,
    ):
        assert read_all(agent) == text()
    return looked


WAYS: list[Callable[[pytest.MonkeyPatch], Looked]] = [
    packed_answer,
    packed_file,
    packed_answer_over_h2,
    packed_request,
    whole_request,
    message,
]


@pytest.mark.parametrize("way", [*WAYS, plain_answer, upgraded, raw_tcp])
def test_a_body_of_escapes_is_searched_a_slice_a_turn(
    way: Callable[[pytest.MonkeyPatch], Looked], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = way(monkeypatch)
    assert looked.most <= AT_ONCE
    assert looked.turns > SIZE // AT_ONCE


@pytest.mark.parametrize("way", WAYS)
def test_the_control_without_slices_all_of_it_is_searched_in_one_turn(
    way: Callable[[pytest.MonkeyPatch], Looked], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stream, "_sliced", at_once)
    assert way(monkeypatch).most > SIZE - AT_ONCE // 2


def at_once(_stream: Stream, work: Callable[[], object]) -> Commands:
    yield from ()
    return work()  # type: ignore[return-value]


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_so_it_is_with_every_kind_of_escape(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert packed_answer(monkeypatch, unit).most <= AT_ONCE


@pytest.mark.parametrize("in_turns", [True, False], ids=["in turns", "the control, at once"])
def test_what_was_held_is_recorded_a_piece_a_turn(monkeypatch: pytest.MonkeyPatch, in_turns: bool) -> None:
    if not in_turns:
        monkeypatch.setattr(Stream, "_sliced", at_once)
    body = gzip.compress(4 * text())
    with plain(secrets=held(80)) as (rig, upstream):
        rig.recorder.guard = rig.mediator.broker.guard
        upstream.routes["/x"] = lambda call: call.reply(200, body, [("content-encoding", "gzip")])
        with rig.http() as agent, looking(rig, monkeypatch) as looked:
            agent.request("GET", "/x")
            assert gzip.decompress(agent.getresponse().read()) == 4 * text()
    assert (looked.most < 4 * MAX_PIECE) is in_turns


def test_another_connection_is_answered_while_a_body_without_end_is_searched() -> None:
    enough = threading.Event()

    def endless(call: Call) -> None:
        call.begin_chunked("text/plain", [("content-encoding", "gzip")])
        packer = gzip.compress(text())
        with contextlib.suppress(OSError):
            while not enough.is_set():
                call.chunk(packer)
        call.cut()

    with plain(secrets=(secret(VALUE, "other.example.test"),)) as (rig, upstream):
        upstream.routes["/endless"] = endless
        with rig.http() as hostile, rig.http() as other:
            hostile.request("GET", "/endless")
            for _ in range(3):
                other.request("GET", "/")
                assert other.getresponse().read() == b"GET / 0"
            enough.set()


def test_who_leaves_amid_a_search_stands_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = threading.Event()

    def serve(call: Call) -> None:
        call.begin_chunked("text/plain", [("content-encoding", "gzip")])
        call.chunk(gzip.compress(text() * 8))
        gone.wait(60)
        call.cut()

    with plain(secrets=(secret(VALUE, "other.example.test"),)) as (rig, upstream):
        upstream.routes["/x"] = serve
        with looking(rig, monkeypatch) as looked, rig.http() as agent:
            agent.request("GET", "/x")
            until(lambda: looked.most > SLICE)
        (end,) = rig.recorder.wait_for(LlmResponseEnd)
        gone.set()
    assert end.error == AGENT_LEFT
    assert rig.fatal == []


def run[T](work: Callable[[], T], *, wanted: Callable[[], bool] = lambda: True) -> T:
    async def carried() -> T:
        return await Slices().carry(work, wanted=wanted)  # type: ignore[no-any-return]

    return asyncio.run(carried())


def test_what_is_worked_on_is_returned_and_what_it_raises_is_raised() -> None:
    assert run(lambda: b"".join(slices(b"ab" * SLICE))) == b"ab" * SLICE
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0)


def test_what_nobody_wants_is_not_begun() -> None:
    assert run(lambda: 1, wanted=lambda: False) is None


def test_what_nobody_wants_any_more_is_given_up_between_two_slices() -> None:
    seen = 0

    def work() -> None:
        nonlocal seen
        for _ in slices(bytes(100 * SLICE)):
            seen += 1

    assert run(work, wanted=lambda: seen < 3) is None
    assert seen == 3
    assert not [one for one in threading.enumerate() if one.name == "slices" and one.is_alive()]


def test_bodies_take_turns_and_others_are_ready_between_each_two_slices() -> None:
    order: list[str] = []

    def work(name: str) -> Callable[[], None]:
        def worked() -> None:
            order.extend(name for _ in slices(bytes(3 * SLICE)))

        return worked

    async def both() -> None:
        shared = Slices()

        async def other() -> None:
            while len(order) < 6 + 5:
                if order and order[-1] != "-":
                    order.append("-")
                await asyncio.sleep(0)

        await asyncio.gather(*(shared.carry(work(name), wanted=lambda: True) for name in ("a", "b")), other())

    asyncio.run(both())
    assert "".join(order).replace("-", "") == "ababab"
    assert "".join(order).strip("-") == "a-b-a-b-a-b"
