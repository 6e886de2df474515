"""Model APIs for the shapes, which call tools: whole answers and streams, of two providers.

A conversation has two turns. A prompt is answered by a call of each of two tools, with arguments that depend
on the prompt; what has the results of both is answered with a text in which they stand. Identifiers count up
from one server to the next, so that a second conversation gets other ones.
"""

import itertools
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fidelity.serving import say
from tests.fakes.upstream import Call, Upstream

BETWEEN_S: Final = 0.01  # between events of a stream: what is written at once arrives as one

type Json = Mapping[str, Any]


def anthropic(server: Upstream) -> None:
    """Serve the Messages API."""
    count = itertools.count(1)

    def answer(call: Call) -> None:
        asked = json.loads(call.body)
        number = next(count)
        content: list[Json]
        results = _anthropic_results(asked["messages"])
        if results:
            content = [{"type": "text", "text": f"They say {results[0]} and {results[1]}."}]
        else:
            content = [
                {"type": "text", "text": "Let me see."},
                {
                    "type": "tool_use",
                    "id": f"toolu_{number}a",
                    "name": "add",
                    "input": {"a": number, "b": 40},
                },
                {"type": "tool_use", "id": f"toolu_{number}b", "name": "lookup", "input": {"word": "ünïque"}},
            ]
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "stub",
            "content": content,
            "stop_reason": "end_turn" if results else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": len(call.body), "output_tokens": number},
        }
        if asked.get("stream"):
            stream(call, anthropic_events(message))
        else:
            say(call, message)

    server.on("/v1/messages")(answer)


def _anthropic_results(messages: list[dict[str, Any]]) -> list[str]:
    last = messages[-1]["content"]
    parts = last if isinstance(last, list) else []
    return [_text(part["content"]) for part in parts if part["type"] == "tool_result"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def anthropic_events(message: Json) -> Iterable[Json]:
    """A message of the Messages API as the events of a stream."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, part in enumerate(message["content"]):
        at = {"index": index}
        if part["type"] == "text":
            yield {"type": "content_block_start", "content_block": {"type": "text", "text": ""}, **at}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(part["text"])]
        else:
            yield {"type": "content_block_start", "content_block": {**part, "input": {}}, **at}
            text = json.dumps(part["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text)]
        yield from ({"type": "content_block_delta", "delta": delta, **at} for delta in deltas)
        yield {"type": "content_block_stop", **at}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


def openai(server: Upstream) -> None:
    """Serve chat completions."""
    count = itertools.count(1)

    def answer(call: Call) -> None:
        asked = json.loads(call.body)
        number = next(count)
        results = [one["content"] for one in asked["messages"] if one["role"] == "tool"]
        head = {"id": f"chatcmpl-{number}", "created": 1700000000 + number, "model": "stub"}
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if results:
            message["content"] = f"They say {results[0]} and {results[1]}."
        else:
            arguments = {"add": {"a": number, "b": 40}, "lookup": {"word": "ünïque"}}
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{name}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(value)},
                }
                for name, value in arguments.items()
            ]
        reason = "stop" if results else "tool_calls"
        if asked.get("stream"):
            _openai_stream(call, head, message, reason)
        else:
            usage = {"prompt_tokens": len(call.body), "completion_tokens": number, "total_tokens": number}
            choice = {"index": 0, "finish_reason": reason, "message": message}
            say(call, head | {"object": "chat.completion", "choices": [choice], "usage": usage})

    server.on("/v1/chat/completions")(answer)


def _openai_stream(call: Call, head: Json, message: Json, reason: str) -> None:
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(message["content"] or "")]
    for index, one in enumerate(message.get("tool_calls", ())):
        function = one["function"]
        start = {"name": function["name"], "arguments": ""}
        deltas.append({"tool_calls": [{**one, "index": index, "function": start}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(function["arguments"])
        ]
    chunk = {**head, "object": "chat.completion.chunk"}
    call.begin_chunked("text/event-stream")
    for delta in [*deltas, {}]:
        choice = {"index": 0, "finish_reason": None if delta else reason, "delta": delta}
        call.chunk(b"data: " + json.dumps({**chunk, "choices": [choice]}).encode() + b"\n\n")
        time.sleep(BETWEEN_S)
    call.chunk(b"data: [DONE]\n\n")
    call.chunk(b"")


def stream(call: Call, events: Iterable[Json]) -> None:
    """Send events one by one."""
    call.begin_chunked("text/event-stream")
    for event in events:
        call.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        time.sleep(BETWEEN_S)
    call.chunk(b"")


def pieces(text: str) -> list[str]:
    """A text in pieces of five characters."""
    return [text[start : start + 5] for start in range(0, len(text), 5)]
