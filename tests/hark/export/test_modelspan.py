"""A call of a model in the conventions' words; what was said is in it only when it is asked for."""

import json
from dataclasses import replace
from typing import Any

import pytest

from hark.export import modelspan
from tests.hark.conversation.rig import SSE, call, stream
from tests.hark.export.otlp import unknown

SAID = "the secret plan"
ASKED = {
    "openai.chat": {
        "model": "m", "n": 2, "temperature": 0, "top_p": 0.5, "stop": "END", "max_completion_tokens": 7,
        "seed": 3,
        "messages": [{"role": "system", "content": SAID}, {"role": "user", "content": SAID}],
    },
    "openai.responses": {"model": "m", "instructions": SAID, "input": SAID, "max_output_tokens": 7},
    "anthropic": {
        "model": "m", "max_tokens": 7, "top_k": 4, "stop_sequences": ["END", 3], "system": SAID,
        "messages": [{"role": "user", "content": SAID}],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": SAID}]},
        "contents": [{"role": "user", "parts": [{"text": SAID}]}],
        "generationConfig": {"maxOutputTokens": 7, "temperature": 0.5, "stopSequences": ["END"], "topK": 4},
    },
}  # fmt: skip
ANSWERED: dict[str, Any] = {
    "openai.chat": {
        "model": "m-1",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}},
    },
    "openai.responses": {
        "model": "m-1", "status": "completed", "usage": {"input_tokens": 9, "output_tokens": 4},
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]}
        ],
    },
    "anthropic": {
        "model": "m-1", "stop_reason": "end_turn", "content": [{"type": "text", "text": SAID}],
        "usage": {
            "input_tokens": 1, "output_tokens": 4, "cache_read_input_tokens": 6,
            "cache_creation_input_tokens": 2,
        },
    },
    "gemini": {
        "modelVersion": "m-1", "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4},
        "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": SAID}]}}],
    },
}  # fmt: skip


@pytest.mark.parametrize("provider", ASKED)
def test_each_api_is_said_in_the_same_words_and_without_what_was_said(provider: str) -> None:
    one = call(provider, ASKED[provider], ANSWERED[provider])
    found = modelspan.found(one, content=False)
    assert SAID not in repr(found)
    assert unknown(found) == []
    assert (found["gen_ai.response.model"], found["gen_ai.request.max_tokens"]) == ("m-1", 7)
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (9, 4)
    assert len(found["gen_ai.response.finish_reasons"]) == 1  # type: ignore[arg-type]
    said = modelspan.found(one, content=True)
    assert repr(said).count(SAID) == 3
    assert unknown(said) == []
    (system,) = json.loads(str(said["gen_ai.system_instructions"]))
    (prompt,) = json.loads(str(said["gen_ai.input.messages"]))
    (answer,) = json.loads(str(said["gen_ai.output.messages"]))
    assert system == {"type": "text", "content": SAID}
    assert prompt == {"role": "user", "parts": [system]}
    assert answer == {"role": "assistant", "parts": [system], "finish_reason": one.stop}


def test_parameters_are_those_of_the_request_by_their_types() -> None:
    chat = modelspan.found(call("openai.chat", ASKED["openai.chat"]), content=False)
    names = ("temperature", "top_p", "seed", "choice.count", "stop_sequences", "top_k")
    assert [chat[f"gen_ai.request.{name}"] for name in names] == [0.0, 0.5, 3, 2, ("END",), None]
    odd = call("openai.chat", ASKED["openai.chat"] | {"temperature": True, "seed": "x", "stop": [1], "n": -1})
    found = modelspan.found(odd, content=False)
    assert [found[f"gen_ai.request.{name}"] for name in names] == [None, 0.5, None, None, None, None]
    cached = modelspan.found(call("anthropic", ASKED["anthropic"], ANSWERED["anthropic"]), content=False)
    assert cached["gen_ai.usage.cache_read.input_tokens"] == 6
    assert cached["gen_ai.usage.cache_creation.input_tokens"] == 2
    assert cached["gen_ai.request.stop_sequences"] == ("END",)


def test_the_first_piece_of_a_stream_has_its_time() -> None:
    chunk = {"model": "m", "choices": [{"index": 0, "delta": {"content": "x"}}]}
    one = call("openai.chat", ASKED["openai.chat"], stream([chunk]), SSE)
    found = modelspan.found(one, content=False)
    assert (found["gen_ai.request.stream"], found["gen_ai.response.time_to_first_chunk"]) == (True, 1e-6)
    whole = modelspan.found(call("openai.chat", ASKED["openai.chat"], ANSWERED["openai.chat"]), content=False)
    assert whole["gen_ai.response.time_to_first_chunk"] is None


@pytest.mark.parametrize(
    ("provider", "host", "name"),
    [
        ("openai.chat", "api.openai.com", "openai"),
        ("openai.chat", "me.openai.azure.com", "azure.ai.openai"),
        ("openai.chat", "api.mistral.ai", "mistral_ai"),
        ("openai.chat", "gateway.example", "openai"),
        ("gemini", "generativelanguage.googleapis.com", "gcp.gemini"),
        ("gemini", "us-central1-aiplatform.googleapis.com", "gcp.vertex_ai"),
        ("gemini", "cloudcode-pa.googleapis.com", "gcp.gen_ai"),
        ("anthropic", "api.anthropic.com.evil.example", "anthropic"),
    ],
)
def test_whose_model_it_is_the_host_says_and_else_the_shape(provider: str, host: str, name: str) -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    published = {one.value for one in gen_ai_attributes.GenAiProviderNameValues}
    one = call(provider, ASKED[provider])
    assert modelspan.provider(replace(one, heard=replace(one.heard, host=host))) == name
    assert name in published


def test_calls_of_tools_and_their_results_are_parts() -> None:
    tool = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    odd = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "no json"}}
    messages = [
        {"role": "assistant", "tool_calls": [tool, odd]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
    ]
    found = modelspan.found(call("openai.chat", {"model": "m", "messages": messages}), content=True)
    asked, result = json.loads(str(found["gen_ai.input.messages"]))
    assert asked["parts"] == [
        {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"a": 1}},
        {"type": "tool_call", "id": "c2", "name": "look", "arguments": "no json"},
    ]
    assert result == {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "r"}]}
    assert found["gen_ai.output.messages"] is None


def test_a_span_is_named_after_what_was_asked_for() -> None:
    assert modelspan.named(call("openai.chat", ASKED["openai.chat"])) == "chat m"
    assert modelspan.named(call("gemini", ASKED["gemini"])) == "generate_content gemini-2.5-pro"
    assert modelspan.named(call("openai.chat", {"messages": []})) == "chat"


STREAMS: dict[str, list[dict[str, Any]]] = {
    "openai.chat": [{"id": "one", "model": "m", "choices": [{"index": 0, "delta": {"content": "x"}}]}],
    "openai.responses": [{"type": "response.completed", "response": {"id": "one", "output": []}}],
    "anthropic": [{"type": "message_start", "message": {"id": "one", "model": "m"}}],
    "gemini": [{"responseId": "one", "candidates": []}],
}


@pytest.mark.parametrize("provider", STREAMS)
def test_an_answer_has_the_name_that_the_api_gives_it(provider: str) -> None:
    key = "responseId" if provider == "gemini" else "id"
    whole = call(provider, ASKED[provider], ANSWERED[provider] | {key: "one"})
    streamed = call(provider, ASKED[provider], stream(STREAMS[provider]), SSE)
    nameless = call(provider, ASKED[provider], ANSWERED[provider])
    found = [modelspan.found(one, content=False)["gen_ai.response.id"] for one in (whole, streamed, nameless)]
    assert found == ["one", "one", None]
