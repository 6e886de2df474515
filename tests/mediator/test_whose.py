"""A connection's process is asked for once, waited for within a bound, and unknown where nobody answers."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from launcher import wire
from launcher.whose import UNKNOWN, Process
from mediator import whose
from mediator.whose import Whose

NEAR, FAR = ("10.200.1.2", 40000), ("192.0.2.1", 443)


@pytest.fixture
def channels() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def answered(theirs: socket.socket, pid: int) -> None:
    """Answer one question as the boundary does."""
    assert wire.receive(theirs).fields == (NEAR[0], str(NEAR[1]), FAR[0], str(FAR[1]))
    wire.send(theirs, "process", str(pid), "/usr/bin/curl", "curl", "-s")


def test_answers_reach_their_questions_in_order(channels: tuple[socket.socket, socket.socket]) -> None:
    async def two() -> list[Process]:
        asking = Whose(channels[0])
        asking.start()
        both = [asyncio.create_task(asking.of(NEAR, FAR)) for _ in range(2)]
        await asyncio.sleep(0)
        answered(channels[1], 3)
        answered(channels[1], 4)
        found = await asyncio.gather(*both)
        asking.close()
        return found

    assert asyncio.run(two()) == [Process(pid, "/usr/bin/curl", ("curl", "-s")) for pid in (3, 4)]


def test_a_late_answer_goes_to_nobody_else(
    channels: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late() -> tuple[Process, Process]:
        asking = Whose(channels[0])
        asking.start()
        monkeypatch.setattr(whose, "WAIT_S", 0.001)
        first = await asking.of(NEAR, FAR)
        monkeypatch.setattr(whose, "WAIT_S", 60)
        second = asyncio.create_task(asking.of(NEAR, FAR))
        await asyncio.sleep(0)
        answered(channels[1], 3)
        answered(channels[1], 4)
        found = first, await second
        asking.close()
        return found

    first, second = asyncio.run(late())
    assert (first, second.pid) == (UNKNOWN, 4)


def test_where_nobody_answers_any_more_every_process_is_unknown(
    channels: tuple[socket.socket, socket.socket],
) -> None:
    async def gone() -> list[Process]:
        asking = Whose(channels[0])
        asking.start()
        waiting = asyncio.create_task(asking.of(NEAR, FAR))
        await asyncio.sleep(0)
        channels[1].close()
        found = [await waiting, await asking.of(NEAR, FAR), await Whose(None).of(NEAR, FAR)]
        asking.close()
        return found

    assert asyncio.run(gone()) == [UNKNOWN] * 3
