"""A miss names the nearest recorded request and what differs, whatever was recorded beside it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle.events import LlmRequest
from hark.replay.canonical import canonical
from hark.replay.nearest import Sketches, among, sentence


def chat(*contents, path="/v1/chat", host="api.example", method="POST", headers=()):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text} for text in contents]})
    raw = ((b"content-type", b"application/json"), *headers)
    return canonical(LlmRequest(host, method, path, {}, body.encode(), raw_headers=raw))


def missed(request, recorded):
    sketches = Sketches()
    for seq, one in recorded.items():
        sketches.add(seq, one)
    return sentence(request, sketches.nearest(request, recorded.__getitem__))


LONG = [f"message {number} " + "x" * 300 for number in range(60)]


def test_a_miss_names_event_path_and_byte():
    recorded = {
        41: chat("a", "b", "c", "tell me of 12 cats"),
        7: chat("a"),
        9: chat("other", path="/v1/embed"),
    }
    assert missed(chat("a", "b", "c", "tell me of 13 cats"), recorded) == (
        "no recording for POST api.example/v1/chat; nearest is event 41: "
        "$.messages[3].content differs at byte 12"
    )


def test_of_a_growing_conversation_the_turn_that_was_meant_is_named():
    recorded = {10 * turn: chat(*LONG[:turn]) for turn in range(1, 60)}
    changed = [*LONG[:29], LONG[29].replace("message", "massage")]
    assert "nearest is event 300: $.messages[29].content differs at byte 1" in missed(
        chat(*changed), recorded
    )


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (chat("a", headers=((b"x-mode", b"2"),)), "event 5: header x-mode is new: 2"),
        (chat("a", path="/v1/chat?beta=1"), "event 5: query beta is new: 1"),
        (chat("a", method="PUT"), "event 5: method was POST and is PUT"),
        (chat("a", host="b.example"), "event 5: host was api.example and is b.example"),
        (chat("a", path="/v1/other"), "event 5: path was /v1/chat and is /v1/other"),
    ],
)
def test_what_is_around_the_body_is_named(request_, words):
    assert words in missed(
        request_, {5: chat("a"), 3: chat("zzz"), 4: chat("a", path="/x/y", host="c.example")}
    )


def test_the_same_request_asked_too_often_is_called_that():
    assert missed(chat("a"), {3: chat("a")}) == (
        "no recording for POST api.example/v1/chat once more: it was recorded once, last as event 3"
    )
    assert "it was recorded 2 times, last as event 5" in missed(
        chat("a"), {3: chat("a"), 5: chat("a"), 6: chat("b")}
    )


def test_without_a_recorded_request_there_is_no_nearest():
    assert missed(chat("a"), {}) == "no recording for POST api.example/v1/chat; no request was recorded"


def test_many_differences_are_counted():
    headers = tuple((b"x-%d" % number, b"1") for number in range(6))
    assert missed(chat("a", headers=headers), {3: chat("a")}).endswith(", and 3 more differ")


def test_only_a_few_requests_are_looked_at_again():
    sketches, fetched = Sketches(), []
    for seq in range(500):
        sketches.add(seq, chat(f"question {seq}", LONG[0]))

    def fetch(seq):
        fetched.append(seq)
        return chat(f"question {seq}", LONG[0])

    assert sketches.nearest(chat("question 77x", LONG[0]), fetch) is not None
    assert len(fetched) <= 3


@given(st.lists(st.binary(max_size=20), max_size=5), st.binary(max_size=20))
def test_any_bodies_have_a_sentence(bodies, body):
    recorded = {seq: canonical(LlmRequest("h", "POST", "/", {}, one)) for seq, one in enumerate(bodies)}
    assert missed(canonical(LlmRequest("h", "POST", "/", {}, body)), recorded).isprintable()


def test_the_nearest_of_some_is_told_in_words():
    recorded = [(3, chat("zzz", path="/v2")), (7, chat("abc")), (9, chat("yyyyyy"))]
    assert among(chat("abd"), recorded) == "nearest is event 7: $.messages[0].content differs at byte 2"
    assert among(chat("abc"), recorded) == "nearest is event 7, which is the same"
    assert among(chat("a"), []) == ""


def test_of_two_that_are_alike_the_earlier_is_named():
    recorded = {14: chat("hello"), 23: chat("one"), 32: chat("hello")}
    assert "nearest is event 14: " in missed(chat("hellO"), recorded)
