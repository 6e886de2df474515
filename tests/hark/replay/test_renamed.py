"""Requests that are one but for identifiers: a bijection over the whole run, or nothing."""

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle.bounds import RunEnd
from hark.bundle.events import LlmRequest
from hark.replay.actions import actions
from hark.replay.canonical import NO_RULES, Rules, canonical
from hark.replay.diverge import compare
from hark.replay.inside import inside
from hark.replay.renamed import Renaming, find, kind_of, renamed
from tests.hark.replay.run import answered, asked, frames

UUIDS = [str(uuid.UUID(int=number << 64 | 0xABC)) for number in range(1, 9)]
TOOLS = ["toolu_01A09q90qw90lq917835lq9z", "toolu_02B18r81rx81mr826946mr8y", "toolu_03C27s72sy72ns735157ns7x"]


def request(value, path="/v1/chat", headers=(), method="POST"):
    raw = ((b"content-type", b"application/json"), *headers)
    return canonical(LlmRequest("api.example", method, path, {}, json.dumps(value).encode(), raw_headers=raw))


def pairs(one, other, renaming=None):
    found = renamed(request(one), request(other), renaming or Renaming())
    return None if found is None else dict(found.pairs)


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (UUIDS[0], ("uuid", "")),
        ("0123456789abcdef", ("hex", "")),
        ("0123456789ABCDEF" * 2, ("hex", "")),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", ("ulid", "")),
        (TOOLS[0], ("id", "toolu_")),
        ("chatcmpl-9x8Y7z6W5v4U3t2S1r", ("id", "chatcmpl-")),
        ("abcdefghijklmnop1", ("id", "")),
        ("0123456789abcde", ("", "")),
        ("0123456789abcdeF", ("id", "")),
        ("1234567890123456", ("", "")),
        ("abcdefghijklmnopqrst", ("", "")),
        ("claude-sonnet-4-5-20250929", ("", "")),
        ("gpt-4o-mini-2024-07-18", ("", "")),
        ("internationalisation", ("", "")),
        ("a" * 120 + "1" * 9, ("", "")),
    ],
)
def test_an_identifier_has_a_kind_and_words_have_none(token, kind):
    assert kind_of(token.encode()) == (kind[0], kind[1].encode())


def test_one_name_for_another_is_a_renaming_wherever_it_stands():
    one = request(
        [UUIDS[0], f"see {UUIDS[0]}"], f"/v1/{UUIDS[0]}?a={UUIDS[0]}", ((b"x-id", UUIDS[0].encode()),)
    )
    other = request(
        [UUIDS[1], f"see {UUIDS[1]}"], f"/v1/{UUIDS[1]}?a={UUIDS[1]}", ((b"x-id", UUIDS[1].encode()),)
    )
    assert one.key != other.key
    assert renamed(one, other, Renaming()).pairs == {UUIDS[0]: UUIDS[1]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([UUIDS[0], UUIDS[0]], [UUIDS[1], UUIDS[2]]),
        ([UUIDS[0], UUIDS[1]], [UUIDS[2], UUIDS[2]]),
        ([UUIDS[0], UUIDS[0]], [UUIDS[0], UUIDS[1]]),
        ([UUIDS[0], "hello"], [UUIDS[1], "hellO"]),
        ([UUIDS[0]], [TOOLS[0]]),
        ([UUIDS[0]], [UUIDS[1].upper().replace("A", "G")]),
        ([TOOLS[0]], [TOOLS[1].replace("toolu_", "callx_")]),
        ([TOOLS[0]], [TOOLS[1] + "a"]),
        (["claude-sonnet-4-5-20250929"], ["claude-sonnet-4-5-20251001"]),
        (["a sentence of some words"], ["a sentence of other word"]),
        ([1234567890123456], ["1234567890123457"]),
        ([UUIDS[0]], {"a": UUIDS[0]}),
    ],
)
def test_what_differs_otherwise_is_none(one, other):
    assert pairs(one, other) is None


def test_what_is_around_the_body_must_be_the_same():
    one = request([UUIDS[0]])
    for other in (
        request([UUIDS[1]], method="PUT"),
        request([UUIDS[1]], path="/v1/chap"),
        request([UUIDS[1]], path="/v1/chat?"),
        request([UUIDS[1]], headers=((b"x-a", b"1"),)),
    ):
        assert renamed(one, other, Renaming()) is None
    assert renamed(request([], "/?a"), request([], "/?a="), Renaming()) is None


def test_a_renaming_holds_over_the_whole_run():
    first = renamed(request([UUIDS[0]]), request([UUIDS[4]]), Renaming())
    assert pairs([UUIDS[0], UUIDS[1]], [UUIDS[4], UUIDS[5]], first) == {
        UUIDS[0]: UUIDS[4],
        UUIDS[1]: UUIDS[5],
    }
    assert pairs([UUIDS[0]], [UUIDS[5]], first) is None
    assert pairs([UUIDS[1]], [UUIDS[4]], first) is None
    assert pairs([UUIDS[0]], [UUIDS[0]], first) is None
    assert dict(first.pairs) == {UUIDS[0]: UUIDS[4]}  # what was tried has changed nothing


def test_an_identifier_that_stays_is_held_to_it_and_not_listed():
    first = renamed(request([UUIDS[0]]), request([UUIDS[0]]), Renaming())
    assert dict(first.pairs) == {}
    assert pairs([UUIDS[0]], [UUIDS[1]], first) is None


def test_an_answer_is_served_with_the_replays_names():
    renaming = renamed(request([TOOLS[0], UUIDS[0]]), request([TOOLS[1], UUIDS[1]]), Renaming())
    answer = f'{{"tool_use_id":"{TOOLS[0]}","trace":"{UUIDS[0]}","other":"{TOOLS[2]}"}}'.encode()
    served = f'{{"tool_use_id":"{TOOLS[1]}","trace":"{UUIDS[1]}","other":"{TOOLS[2]}"}}'.encode()
    assert renaming.applied(answer) == served
    assert renaming.undone(served) == answer
    assert renaming.applied(f"x{UUIDS[0]}".encode()) == f"x{UUIDS[0]}".encode()


def test_the_first_that_fits_is_found():
    recorded = [(1, request(["other"])), (2, request([UUIDS[0], "q"])), (3, request([UUIDS[1], "q"]))]
    found = find(request([UUIDS[5], "q"]), recorded, Renaming())
    assert found.seq == 2
    assert find(request([UUIDS[5], "q"]), recorded[:1], Renaming()) is None


def test_a_body_that_is_not_held_is_one_only_with_itself():
    one, other = (
        request([])._replace(body=b"", size=20 << 20, digest=digest * 32) for digest in (b"a", b"b")
    )
    assert renamed(one, one, Renaming()) is not None
    assert renamed(one, other, Renaming()) is None


IDS = st.lists(st.sampled_from(UUIDS), max_size=6)


@given(IDS, st.permutations(UUIDS))
def test_any_bijection_is_found_and_undone(ids, others):
    names = dict(zip(UUIDS, others, strict=True))
    found = renamed(request(ids), request([names[one] for one in ids]), Renaming())
    assert dict(found.pairs) == {one: names[one] for one in ids if names[one] != one}
    text = " ".join(ids).encode()
    assert found.undone(found.applied(text)) == text


@given(IDS, IDS)
def test_lists_of_names_are_one_exactly_where_they_have_one_pattern(one, other):
    pattern = [[ids.index(name) for name in ids] for ids in (one, other)]
    assert (pairs(one, other) is not None) is (pattern[0] == pattern[1])


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_are_renamed_or_not(one, other):
    requests = [canonical(LlmRequest("h", "POST", "/", {}, body)) for body in (one, other)]
    renamed(*requests, Renaming())
    assert Renaming().applied(one) == one


def conversation(*names):
    """A model names a tool call, and the agent sends a session of its own and that name back."""
    session, call = names
    events = [
        asked(1, json.dumps({"session": session}).encode()),
        *answered(1, b'data: {"tool_use_id": "', call[:9].encode(), call[9:].encode(), b'"}'),
        asked(2, json.dumps({"session": session, "result": call}).encode()),
        *answered(2, session.encode()),
        RunEnd(0, 0, "exit"),
    ]
    return frames(events)


def test_a_run_under_another_name_is_equal_once_its_renaming_is_undone():
    recorded, replayed = conversation(UUIDS[0], TOOLS[0]), conversation(UUIDS[5], TOOLS[0])
    plain = actions(recorded)
    assert not compare(plain, actions(replayed)).equal
    renaming = renamed(request({"session": UUIDS[0]}), request({"session": UUIDS[5]}), Renaming())
    assert compare(plain, actions(replayed, Rules(undo=renaming.undone))).equal
    other = conversation(UUIDS[5], TOOLS[1])
    compared = compare(plain, actions(other, Rules(undo=renaming.undone)))
    assert not compared.equal
    found = inside(compared.first, lambda: recorded, lambda: other, NO_RULES, Rules(undo=renaming.undone))
    assert [str(one) for one in found] == ["body differs at byte 30"]
