"""A request that differs stands for the one that it is nearest to, wherever that was made."""

import json

import pytest

from hark.bundle import events as ev
from hark.diff import near
from hark.diff.align import rows
from hark.diff.near import Nearness, in_order
from hark.diff.side import Side
from tests.hark.cli.program import hark
from tests.support import recordings

TOPICS = ("the migration of the billing data", "a poem about lighthouses", "prime numbers below fifty")


def asked(*prompts):
    events = []
    for number, prompt in enumerate(prompts, 1):
        body = json.dumps({"messages": [{"role": "user", "content": prompt}]}).encode()
        events += [
            ev.LlmRequest("api.example", "POST", "/v1", {}, body, exchange=number),
            ev.LlmResponseChunk(0, b"{}", exchange=number),
            ev.LlmResponseEnd(200, {}, 1, exchange=number),
        ]
    return events


@pytest.fixture
def pair(tmp_path):
    """The other run asks something first, and each of the questions a little otherwise."""
    one = recordings.bundle(tmp_path / "a.hark", *asked(*TOPICS))
    changed = [f"{topic}, briefly" for topic in TOPICS]
    return one, recordings.bundle(tmp_path / "b.hark", *asked("something else altogether", *changed))


def laid(pair, pairing=None):
    """Which exchange stands for which."""
    with Side(pair[0]) as a, Side(pair[1]) as b:
        found = rows(a.streams, b.streams, pairing or Nearness(a.request, b.request))
    both = [row for row in found if not row.equal]
    return [(row.was and row.was.exchange, row.now and row.now.exchange) for row in both]


def test_a_request_in_front_moves_no_pair(pair):
    assert sorted(laid(pair), key=str) == [(1, 2), (2, 3), (3, 4), (None, 1)]
    assert sorted(laid(pair, in_order), key=str) == [(1, 1), (2, 2), (3, 3), (None, 4)]  # the control


@pytest.mark.parametrize("bound", ["MAX_READ", "MAX_TRIED"])
def test_beyond_a_bound_they_are_paired_in_order(pair, monkeypatch, bound):
    monkeypatch.setattr(near, bound, 6)
    assert sorted(laid(pair), key=str) == [(1, 1), (2, 2), (3, 3), (None, 4)]


def test_the_command_shows_what_was_put_behind_each_and_what_is_new(pair):
    code, out, _ = hark("diff", *pair)
    assert code == 1
    assert out.count(", briefly") == len(TOPICS)
    assert out.splitlines()[-1] == "different: 1 equal, 3 changed, 0 removed, 1 added"


def test_requests_that_cannot_be_read_are_paired_by_their_places():
    class Action:
        stream = "request POST h/p\0k"

    none = Nearness(lambda _: None, lambda _: None)
    assert none([Action(), Action()], [Action(), Action(), Action()]) == [(0, 0), (1, 1)]
