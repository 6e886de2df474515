"""Which strings of a model's stream are pieces of one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.patch import jsontext
from hark.patch.shapes import is_of_model_api, is_of_protocol, text_of
from tests.hark.patch.rig import STREAMS, json_values


def call(index, arguments):
    return {"choices": [{"index": 2, "delta": {"tool_calls": [{"index": index, "function": arguments}]}}]}


BLOCK, START = {"type": "content_block_delta", "index": 4}, {"type": "content_block_start", "index": 4}
PART = {"parts": [{"text": "x", "thought": True}]}
OUTPUT = {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "x"}
CALL = ("choices", 0, "delta", "tool_calls", 0, "function")
IN_PART = ("candidates", 0, "content", "parts", 0, "text")


@pytest.mark.parametrize(
    ("document", "path", "name"),
    [
        (
            {"choices": [{"index": 1, "delta": {"content": "x"}}]},
            "choices 0 delta content",
            "text of choice 1",
        ),
        ({"choices": [{"delta": {"refusal": "x"}}]}, "choices 0 delta refusal", "refusal of choice 0"),
        ({"choices": [{"index": True, "text": "x"}]}, "choices 0 text", "text of choice 0"),
        (call(3, {"arguments": "{"}), (*CALL, "arguments"), "arguments of tool call 3 of choice 2"),
        (call(3, {"name": "f"}), (*CALL, "name"), ""),
        ({**BLOCK, "delta": {"text": "x"}}, "delta text", "text of block 4"),
        ({**BLOCK, "delta": {"type": "x"}}, "delta type", ""),
        ({**BLOCK, "delta": {"partial_json": "x"}}, "delta partial_json", "input of block 4"),
        ({**START, "content_block": {"text": ""}}, "content_block text", "text of block 4"),
        ({"type": "message_delta", "delta": {"text": "x"}}, "delta text", ""),
        (OUTPUT, "delta", "output text of output 1, part 0"),
        ({"type": "response.output_text.done", "delta": "x"}, "delta", ""),
        ({"type": 5, "delta": "x"}, "delta", ""),
        ({"delta": "x"}, "delta", ""),
        ({"candidates": [{"index": 1, "content": PART}]}, IN_PART, "thought of candidate 1"),
        ([{"candidates": [{"content": {"parts": [{"text": "x"}]}}]}], (0, *IN_PART), "text of candidate 0"),
        (["x"], (0,), ""),
        ({"choices": "x"}, "choices", ""),
    ],
)
def test_a_piece_of_a_text_is_named_by_it(document, path, name):
    if isinstance(path, str):
        path = tuple(int(step) if step.isdigit() else step for step in path.split())
    assert text_of(document, path) == name


@pytest.mark.parametrize("shape", STREAMS)
def test_every_event_with_text_is_of_a_model_api(shape):
    for event in STREAMS[shape]("a", "b"):
        assert event == {"type": "message_stop"} or is_of_model_api(event)


def test_other_documents_are_not():
    assert not is_of_model_api({"model": "T", "colour": "black"})
    assert not is_of_model_api({"status": "active"})
    assert not is_of_model_api([1])
    assert is_of_model_api({"model": "m", "input": "x"})
    assert is_of_model_api([{"candidates": []}])


def test_what_says_what_something_is_is_of_the_protocol():
    assert is_of_protocol(("messages", 0, "role"))
    assert is_of_protocol(("tool_call_id",))
    assert is_of_protocol(("id",))
    assert is_of_protocol(("type", 0))
    assert not is_of_protocol(("messages", 0, "content"))
    assert not is_of_protocol((0,))


KEYS = st.sampled_from(
    [
        "choices",
        "delta",
        "content",
        "candidates",
        "parts",
        "text",
        "type",
        "index",
        "tool_calls",
        "function",
        "arguments",
        "content_block",
    ]
)
TYPES = st.sampled_from(["content_block_delta", "response.x.delta", "content_block_start"])
HOSTILE = st.recursive(
    st.none() | st.integers() | TYPES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(HOSTILE | json_values)
def test_any_json_has_an_answer(value):
    from hark.replay import jsonform

    text = jsonform.spell(value)
    assert is_of_model_api(value) in (True, False)
    for node in jsontext.strings(text):
        assert isinstance(text_of(value, node.path), str)
        assert is_of_protocol(node.path) in (True, False)
