"""Runs compared: equal where nothing that counts differs, else the first thing that does, with both sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.replay.actions import Streams, actions
from hark.replay.diverge import Divergence, compare
from tests.hark.replay.run import answered, asked, frames, run


def compared(one, other):
    return compare(actions(frames(one)), actions(frames(other)))


def test_a_run_is_equal_to_itself():
    found = compared(run(), run())
    assert found.equal
    assert (found.first, found.unfit, found.unused, found.extra, found.equal_actions) == (None, "", (), 0, 28)
    assert found.recorded_digest == found.replayed_digest


def test_one_byte_of_an_answer_is_a_divergence_with_both_sides_and_what_was_before():
    events = run()
    at = next(at for at, event in enumerate(events) if isinstance(event, ev.LlmResponseChunk))
    events[at] = events[at]._replace(data=b"data: hem")
    found = compared(run(), events)
    assert not found.equal
    assert found.first.parts == ("body",)
    assert found.first.recorded.title == found.first.replayed.title == "request POST api.example/v1/chat"
    assert [action.title for action in found.first.before] == [
        "denied name evil.example",
        "connection https to api.example port 443, SNI api.example",
        "denied tcp to 203.0.113.9 port 22",
    ]


def test_one_character_of_a_prompt_has_both_requests_as_its_sides():
    events = run()
    at = next(at for at, event in enumerate(events) if isinstance(event, ev.LlmRequest))
    events[at] = events[at]._replace(body=events[at].body.replace(b"hello", b"hellO"))
    found = compared(run(), events)
    assert found.first.parts == ("request",)
    assert (found.first.recorded.seq, found.first.replayed.seq) == (at, at)
    assert [action.seq for action in found.unused] == [at]
    assert found.extra == 1


def conversation(*pairs):
    events = []
    for number, (question, answer) in enumerate(pairs, 1):
        events += [asked(number, question), *answered(number, answer)]
    return [*events, RunEnd(0, 0, "exit")]


def test_two_answers_that_are_swapped_are_no_equal_runs():
    assert not compared(
        conversation((b"a", b"1"), (b"b", b"2")), conversation((b"a", b"2"), (b"b", b"1"))
    ).equal
    assert not compared(
        conversation((b"a", b"1"), (b"a", b"2")), conversation((b"a", b"2"), (b"a", b"1"))
    ).equal


def test_an_answer_that_was_not_asked_for_again_is_named():
    found = compared(
        conversation((b"a", b"1"), (b"b", b"2"), (b"c", b"3")), conversation((b"a", b"1"), (b"c", b"3"))
    )
    assert not found.equal
    assert [action.seq for action in found.unused] == [3]
    assert found.first.recorded.seq == 3
    assert found.first.replayed is None
    assert [action.seq for action in found.first.before] == [0]


def test_something_that_was_not_recorded_has_no_recorded_side():
    found = compared(conversation((b"a", b"1")), conversation((b"a", b"1"), (b"a", b"1")))
    assert (found.first.recorded, found.first.replayed.seq, found.extra) == (None, 3, 1)
    assert [action.seq for action in found.first.before] == [0]


def test_another_program_comes_first():
    events = run()
    at = next(at for at, event in enumerate(events) if getattr(event, "root", "") == "programs")
    events[at] = events[at]._replace(entries={"/usr/bin/python3": b"x" * 32, "/bin/sh": b"q" * 32})
    events[14] = events[14]._replace(body=b"other")
    found = compared(run(), events)
    assert found.first.recorded.title == "program /usr/bin/python3"
    assert found.first.parts == ("hash",)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            RunEnd(0, 127, "never-started: not found"),
            'of the recorded run: the run never started ("not found")',
        ),
        (RunEnd(0, 1, "recorder-failed"), "of the recorded run: the recorder failed and the run was ended"),
        (RunEnd(0, 1, "fork-diverged"), "of the recorded run: the fork diverged from its parent"),
        (
            RunEnd(0, 0, "a word of nobody's"),
            'of the recorded run: the run ended for the reason "a word of nobody\'s"',
        ),
        (None, "of the recorded run: how the run ended is not recorded"),
    ],
)
def test_a_run_that_never_came_to_an_end_is_equal_to_nothing(end, words):
    events = [*run()[:-1], *([end] if end else [])]
    found = compared(events, events)
    assert not found.equal
    assert (found.unfit, found.first) == (words, None)
    other = compared(run(), events)
    assert other.unfit == words.replace("the recorded run", "the replay")


@pytest.mark.parametrize("reason", ["exit", "exit: after SIGTERM", "signal SIGKILL", "interrupted: SIGTERM"])
def test_a_run_that_ended_so_can_be_equal(reason):
    events = [*run()[:-1], RunEnd(0, 1, reason)]
    assert compared(events, events).equal


def test_nothing_is_equal_to_nothing_only_with_ends():
    assert not compare(Streams({}, None), Streams({}, None)).equal
    assert compare(Streams({}, RunEnd(0, 0, "exit")), Streams({}, RunEnd(0, 0, "exit"))).equal


def test_a_divergence_without_a_side_is_none():
    with pytest.raises(ValueError, match="without a side"):
        _ = Divergence(None, None).action


SOME = st.lists(st.sampled_from(run()[:-1]), max_size=20).map(lambda events: [*events, RunEnd(0, 0, "exit")])


@given(SOME, SOME)
def test_a_divergence_is_found_exactly_where_digests_differ(one, other):
    found = compared(one, other)
    assert (found.first is None) is (found.recorded_digest == found.replayed_digest) is found.equal
    if found.first is not None:
        assert len(found.first.before) <= 3
        assert found.first.parts or found.first.recorded is None or found.first.replayed is None


@given(st.integers(0, len(run()) - 1), st.integers(0, len(run()) - 1))
def test_an_event_that_is_moved_or_dropped_is_equal_only_where_its_streams_are(at, to):
    events = run()
    events.insert(to, events.pop(at))
    same = actions(frames(events))
    base = actions(frames(run()))
    parts = [
        {name: [action.parts for action in stream] for name, stream in each.actions.items()}
        for each in (base, same)
    ]
    assert compare(base, same).equal is (parts[0] == parts[1])


def test_the_first_difference_is_the_earliest_also_where_a_later_request_follows_from_it():
    one = conversation((b"a", b"1"), (b"said 1", b"2"))
    other = conversation((b"a", b"9"), (b"said 9", b"2"))
    found = compared(one, other)
    assert found.first.parts == ("body",)
    assert (found.first.recorded.seq, found.first.before) == (0, ())
