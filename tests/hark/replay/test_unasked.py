"""Recorded requests are found by key and head, the first one first, at a cost that does not grow."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.replay.canonical import NO_RULES
from hark.replay.recorded import Recorded, read
from hark.replay.score import Score
from hark.replay.unasked import Unasked
from tests.hark.replay.test_recorded import asked, end, frames
from tests.support.steps import steps

SMALL, TIMES = 100, 4


def recorded(*events: Any) -> list[Recorded]:
    return list(read(frames(*events)).exchanges.values())


def test_of_those_alike_the_first_that_is_left_is_found() -> None:
    all_of_them = recorded(asked("/a"), asked("/b", exchange=2), asked("/a", exchange=3))
    unasked = Unasked(all_of_them, NO_RULES)
    key = all_of_them[0].key(NO_RULES)
    for one in (all_of_them[0], all_of_them[2]):
        assert unasked.found(one.request, key) is one
        assert unasked.found(one.request, key) is one
        assert unasked.take(one)
        assert not unasked.take(one)
    assert unasked.found(all_of_them[0].request, key) is None
    assert list(unasked.values()) == [all_of_them[1]]


def test_a_streamed_one_is_claimed_once_until_it_is_given_back() -> None:
    both = recorded(*(asked("/a", exchange=number, streaming=True) for number in (1, 2)))
    unasked = Unasked(both, NO_RULES)
    assert [unasked.claimed(both[0].request) for _ in range(3)] == [*both, None]
    unasked.give_back(both[1])
    unasked.give_back(both[0])
    assert unasked.claimed(both[0].request) is both[0]
    unasked.take(both[1])
    assert unasked.claimed(both[0].request) is None


type Make = Callable[[int], Callable[[], object]]


def _asking(order: Callable[[int], list[int]]) -> Make:
    """A replay that makes all recorded requests, in an order of its own."""

    def make(count: int) -> Callable[[], object]:
        told = [event for n in range(1, count + 1) for event in (asked(f"/{n}", exchange=n), end(exchange=n))]
        score = Score(frames(*told))

        def work() -> None:
            for number in order(count):
                assert score.observe(asked(f"/{number}", exchange=number)) is None
                score.observe(ev.LlmResponseEnd(200, exchange=number))

        return work

    return make


def _mixed(count: int) -> list[int]:
    numbers = list(range(1, count + 1))
    random.Random(1).shuffle(numbers)
    return numbers


def _streaming(count: int) -> Callable[[], object]:
    """The same streamed request again and again."""
    told = [asked("/", exchange=n, streaming=True) for n in range(1, count + 1)]
    score = Score(frames(*told))

    def work() -> None:
        for number in range(1, count + 1):
            score.observe(asked("/", exchange=number, streaming=True))
            score.observe(ev.LlmResponseEnd(exchange=number, error=ev.AGENT_LEFT))

    return work


def _saying(count: int) -> Callable[[], object]:
    """One conversation of many messages."""
    said = [ev.McpMessage("tool", 1, n, from_agent=True, data=b"[%d]" % n) for n in range(count)]
    score = Score(frames(*said))

    def work() -> None:
        for message in said:
            assert score.observe(message) is None

    return work


def _connecting(count: int) -> Callable[[], object]:
    """Many conversations to one place."""
    told = [ev.TunnelData(n, 0, from_agent=True, host="db.example:1") for n in range(1, count + 1)]
    score = Score(frames(*told))

    def work() -> None:
        for event in told:
            assert score.observe(event) is None

    return work


WORK: dict[str, Make] = {
    "requests in order": _asking(lambda count: list(range(1, count + 1))),
    "requests in the opposite order": _asking(lambda count: list(range(count, 0, -1))),
    "requests in any order": _asking(_mixed),
    "streamed requests of one head": _streaming,
    "messages of one conversation": _saying,
    "conversations with one place": _connecting,
}


@pytest.mark.attack
@pytest.mark.parametrize("what", WORK)
def test_a_replay_of_four_times_as_much_is_four_times_the_work(what: str) -> None:
    """A bundle is somebody else's: it must not keep a processor busy without end."""
    few, many = (steps(WORK[what](SMALL * times)) for times in (1, TIMES))
    assert few > SMALL
    assert many < few * TIMES * 1.5
