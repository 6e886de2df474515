"""Whose call a request is, and that no JSON raises."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.conversation.model import Turn, model_call
from tests.hark.conversation.rig import PATHS, SSE, heard, stream


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": "x"}),
        ("/v1/messages", b"not json"),
        ("/v1/messages", [1]),
        ("/v1/messages", {"to": "somebody"}),
        ("/v1/chat/completions", {"messages": "x"}),
        ("/surveys/responses", {"answers": []}),
        ("/v1/models/x:countTokens", {"contents": []}),
    ],
)
def test_other_requests_are_none(path: str, body: Any) -> None:
    assert model_call(heard(path, body)) is None


def test_a_proxy_in_front_changes_nothing() -> None:
    one = model_call(heard("/openai/deployments/x/chat/completions?api-version=1", {"messages": []}))
    assert one is not None
    assert (one.provider, one.reply) == ("openai.chat", None)


def test_an_answer_that_is_not_what_it_says_is_no_reply() -> None:
    one = model_call(heard("/v1/messages", {"messages": []}, b"<html>", "text/html"))
    assert one is not None
    assert one.reply is None
    empty = model_call(heard("/v1/messages", {"messages": []}, {"content": []}))
    assert empty is not None
    assert empty.reply == Turn("assistant", "")


NAMES = st.sampled_from(
    ["messages", "input", "contents", "content", "role", "type", "text", "tool_calls", "function",
     "arguments", "id", "call_id", "output", "choices", "delta", "message", "usage", "candidates",
     "parts", "functionCall", "index", "response", "item", "tools", "functionDeclarations",
     "request", "system", "content_block", "args", "name", "prompt_tokens_details",
     "functionResponse", "output_index", "systemInstruction"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["tool_use", "tool_result", "text", "message_start", "content_block_start",
     "content_block_delta", "message_delta", "input_json_delta", "text_delta", "function_call",
     "function_call_output", "response.output_item.added", "response.completed", "message",
     "tool", "x", "response.function_call_arguments.done", "response.output_text.delta", "\ud800"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.parametrize("provider", PATHS)
@given(data=st.data())
def test_no_json_raises(provider: str, data: Any) -> None:
    asked = data.draw(st.dictionaries(NAMES, JSON, max_size=4))
    asked |= {name: asked.get(name) or data.draw(JSON) for name in ("messages", "input", "contents")}
    answered = data.draw(JSON)
    model_call(heard(PATHS[provider], asked, answered))
    events = [
        event for event in (answered if isinstance(answered, list) else [answered]) if isinstance(event, dict)
    ]
    named = [{**event, "type": data.draw(WORDS)} for event in events]
    call = model_call(heard(PATHS[provider], asked, stream(named), SSE))
    assert call is None or all(isinstance(turn.text, str) for turn in call.turns)
    if call is not None:
        json.dumps([call.model, call.stop, [turn.role for turn in call.turns]])
