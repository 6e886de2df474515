"""What an editor left becomes a patch that leads there, or a sentence."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hark.errors import ForkError, PatchError
from hark.patch.apply import Sent, patched_parts, patched_request
from hark.patch.edit import of_answer, of_request, patch_of
from hark.patch.model import parse_patch
from hark.patch.where import Side
from hark.replay.pieces import Failed, Part
from tests.hark.patch.rig import (
    JSON,
    STREAM,
    STREAMS,
    answer,
    anthropic,
    body,
    header,
    heard,
    json_values,
    packed,
    said,
    sse,
)

TEXT = (b"content-type", b"text/plain")


def edit(parts, change):
    """The answer that the patch of an edit makes, and the patch."""
    shown = of_answer(parts)
    patch = parse_patch(patch_of(shown, change(shown.text)))
    assert patch.on is Side.RESPONSE
    return patched_parts(patch, parts), json.loads(patch.raw)["steps"]


def test_json_is_shown_with_a_line_for_each_member():
    parts = answer(b'{"n":1.0,"text":"one"}')
    assert of_answer(parts).text == '{\n  "n": 1.0,\n  "text": "one"\n}\n'
    made, steps = edit(parts, lambda text: text.replace("one", "two"))
    assert body(made) == b'{"n":1.0,"text":"two"}'
    assert steps == [{"set": "/text", "value": "two"}]


def test_a_packed_answer_is_shown_as_it_is_read():
    chunks = packed("gzip", b'{"text":', b'"one"}')
    parts = answer(*chunks, headers=(JSON, (b"content-encoding", b"gzip"), (b"content-length", b"99")))
    made, _ = edit(parts, lambda text: text.replace("one", "three"))
    assert body(made) == b'{"text":"three"}'
    assert header(made, b"content-length") == [b"16"]


def test_a_stream_is_shown_as_its_text():
    parts = answer(sse(*STREAMS["openai"]("Say h", "ello to", " all")), headers=(STREAM,))
    assert of_answer(parts).text == "Say hello to all\n"
    made, steps = edit(parts, lambda text: text.replace("hello", "bye"))
    assert said(heard(body(made))) == "Say bye to all"
    assert steps == [{"replace": "hello", "with": "bye"}]


def test_the_texts_of_a_stream_stand_one_behind_the_other():
    stream = anthropic("----- not a bar", "\nyes", thinking=("hm",), arguments=('{"a": "x', 'y"}'))
    parts = answer(sse(*stream), headers=(STREAM,))
    shown = of_answer(parts).text
    assert shown == (
        "------ thinking of block 0 ------\nhm\n------ text of block 1 ------\n----- not a bar\nyes\n"
        '------ input of block 2 ------\n{"a": "xy"}\n'
    )
    made, steps = edit(parts, lambda text: text.replace("yes", "no").replace("xy", "z"))
    events = heard(body(made))
    assert said(events) == "----- not a bar\nno"
    joined = "".join(event.get("delta", {}).get("partial_json", "") for event in events)
    assert json.loads(joined) == {"a": "z"}
    assert [step["with"] for step in steps] == ["no", "z"]
    with pytest.raises(ForkError, match="leave them as they are"):
        edit(parts, lambda text: text.replace("thinking of block 0", "x"))
    with pytest.raises(ForkError, match="leave them as they are"):
        edit(parts, lambda text: f"before\n{text}")


def test_one_of_two_equal_texts_is_changed_by_its_events():
    events = [
        {"choices": [{"index": index, "delta": {"content": piece}}]}
        for index in (0, 1)
        for piece in ("a", "b")
    ]
    parts = answer(sse(*events), headers=(STREAM,))
    made, steps = edit(parts, lambda text: text.replace("ab", "x", 1))
    assert [event["choices"][0]["delta"]["content"] for event in heard(body(made))] == ["x", "", "a", "b"]
    assert {step["event"] for step in steps} == {0, 1}


def test_what_is_said_again_whole_is_changed_too():
    parts = answer(sse(*STREAMS["responses"]("one ", "two")), headers=(STREAM,))
    made, _ = edit(parts, lambda text: text.replace("two", "three"))
    assert heard(body(made))[-1]["response"]["output"][0]["content"][0]["text"] == "one three"


def test_a_text_that_occurs_twice_gets_some_of_what_stands_around_it():
    text = "The first line says stop here.\n" + "filler\n" * 40 + "The last line says stop there.\n"
    made, steps = edit(
        answer(text.encode(), headers=(TEXT,)), lambda text: text.replace("stop there", "go there")
    )
    assert body(made).decode() == text.replace("stop there", "go there")
    assert len(json.dumps(steps)) < 200


def test_other_streams_and_texts_are_shown_as_they_are():
    parts = answer(b"data: one\n\nevent: x\ndata: two\n\n", headers=(STREAM,))
    assert of_answer(parts).text == "data: one\n\nevent: x\ndata: two\n\n\n"
    made, steps = edit(parts, lambda text: text.replace("two", "three"))
    assert steps == [{"replace": "wo", "with": "hree"}] or steps[0]["replace"] != ""
    assert body(made) == b"data: one\n\nevent: x\ndata: three\n\n"
    made, steps = edit(parts, lambda text: text.replace("event: x", "event: y"))
    assert list(steps[0]) == ["body"]
    made, _ = edit(answer(headers=(TEXT,)), lambda text: f"new{text}")
    assert body(made) == b"new"


def test_another_charset_is_shown_and_kept():
    kind = (b"content-type", b"text/plain; charset=iso-8859-1")
    made, _ = edit(answer(b"f\xfcr", headers=(kind,)), lambda text: text.replace("ü", "ä"))
    assert body(made) == b"f\xe4r"
    with pytest.raises(ForkError, match="cannot be said"):
        edit(answer(b"f\xfcr", headers=(kind,)), lambda text: text.replace("ü", "→"))


def test_a_request_is_shown_and_patched_likewise():
    sent = Sent(
        "POST", "api.example", "/v1/messages", (JSON,), b'{"messages":[{"role":"user","content":"hi"}]}'
    )
    shown = of_request(sent)
    patch = parse_patch(patch_of(shown, shown.text.replace("hi", "bye"), "why"))
    assert (patch.on, patch.note) == (Side.REQUEST, "why")
    assert json.loads(patched_request(patch, sent).body)["messages"][0]["content"] == "bye"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text, "nothing was changed"),
        (lambda text: text.removesuffix("\n"), "nothing was changed"),
        (lambda text: text.replace("  ", "\t"), "nothing was changed but spaces"),
        (lambda text: text.replace("}", ""), r"what the editor left:\d+:\d+: is not JSON"),
        (lambda _: "", "the file is empty"),
    ],
)
def test_what_is_no_edit_is_a_sentence(change, why):
    with pytest.raises(ForkError, match=why):
        edit(answer(b'{"a":[1,"x"]}'), change)


def test_what_is_no_text_cannot_be_edited():
    with pytest.raises(PatchError, match="no text"):
        of_answer(answer(b"\xff\xfe\x00", headers=(TEXT,)))
    with pytest.raises(PatchError, match="no recorded answer"):
        of_answer([Part(1, 0, Failed("reset"))])


@given(json_values, json_values)
def test_an_edit_of_json_leads_to_what_was_left(old, new):
    assume(json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True))
    parts = answer(json.dumps({"a": old}).encode())
    made, _ = edit(parts, lambda _: json.dumps({"a": new}))
    assert json.dumps(json.loads(body(made)), sort_keys=True) == json.dumps({"a": new}, sort_keys=True)


@pytest.mark.parametrize("shape", STREAMS)
@given(st.lists(st.text("ab\n-", max_size=4), min_size=1, max_size=4), st.text("abc\n-", max_size=8))
def test_an_edit_of_a_stream_leads_to_what_was_left(shape, pieces, new):
    parts = answer(sse(*STREAMS[shape](*pieces)), headers=(STREAM,))
    assume("".join(pieces) not in ("", new))
    made, _ = edit(parts, lambda _: f"{new}\n")
    assert said(heard(body(made))) == new
    assert len(heard(body(made))) == len(heard(body(parts)))


@given(st.text("ab \n", max_size=30), st.text("ab \n", max_size=30))
def test_an_edit_of_a_text_leads_to_what_was_left(old, new):
    assume(new != old)
    made, _ = edit(answer(old.encode(), headers=(TEXT,)), lambda _: f"{new}\n")
    assert body(made) == new.encode()


def test_more_changes_than_a_patch_has_steps_are_one():
    old, new = ({"a": [{"n": number + more} for number in range(1500)]} for more in (0, 1))
    made, steps = edit(answer(json.dumps(old).encode()), lambda _: json.dumps(new))
    assert json.loads(body(made)) == new
    assert len(steps) == 1
