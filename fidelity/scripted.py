"""Models that follow a script, for agents that are not ours: what is asked in each turn does not matter.

A script is one list of turns for each conversation; a turn is a text, or calls of tools. Which turn it is
follows from how many of the model's turns a request holds, so one that is tried again gets the same turn, and
one that an agent makes on the side (for a title, say) is told apart by its lack of tools.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fidelity.models import anthropic_events, pieces
from fidelity.serving import say
from tests.fakes.upstream import Call, Upstream

BETWEEN_S: Final = 0.01
ASIDE: Final = "On the side"
"""What a request gets that belongs to no conversation of the script."""

type Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Use:
    """A tool's call: its name, and what it is called with."""

    tool: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says, and which tools it calls then, in parallel."""

    text: str
    uses: Sequence[Use] = ()


type Script = Mapping[str, Sequence[Turn]]
"""By a word in the first prompt; the first that fits counts."""


def chosen(script: Script, prompt: str, done: int) -> Turn:
    """The turn after `done` turns of the model's, in the conversation that began with `prompt`."""
    turns = next((turns for word, turns in script.items() if word in prompt), [Turn(ASIDE)])
    return turns[min(done, len(turns) - 1)]


def stream(call: Call, events: Iterable[Json]) -> None:
    """Send events, piece by piece of a text; what follows the last piece comes with it."""
    written = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    pieces_end = max(
        place for place, text in enumerate(written) if b'.delta"' in text or b'"content_block_delta"' in text
    )
    call.begin_chunked("text/event-stream")
    for text in written[:pieces_end]:
        call.chunk(text)
        time.sleep(BETWEEN_S)
    call.chunk(b"".join(written[pieces_end:]))
    call.chunk(b"")


def failing(answer: Callable[[Call], None], at: int, status: int, body: Json) -> Callable[[Call], None]:
    """The same, but the request number `at` (from 1) is answered by a failure."""
    count = itertools.count(1)

    def sometimes(call: Call) -> None:
        if next(count) == at:
            say(call, body, status)
        else:
            answer(call)

    return sometimes


def anthropic(server: Upstream, script: Script, overloaded_at: int = 0) -> None:
    """Serve the Messages API; the request number `overloaded_at` is answered with 529."""
    count = itertools.count(1)

    def answer(call: Call) -> None:
        asked = json.loads(call.body)
        prompt = json.dumps(
            next(one for one in asked["messages"] if one["role"] == "user"), ensure_ascii=False
        )
        done = sum(one["role"] == "assistant" for one in asked["messages"])
        turn = chosen(script, prompt, done) if asked.get("tools") else Turn(ASIDE)
        number = next(count)
        content: list[Json] = [{"type": "text", "text": turn.text}]
        content += [
            {"type": "tool_use", "id": f"toolu_{number:04}{index}", "name": use.tool, "input": use.arguments}
            for index, use in enumerate(turn.uses)
        ]
        message = {
            "id": f"msg_{number:04}",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": content,
            "stop_reason": "tool_use" if turn.uses else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }
        if asked.get("stream"):
            stream(call, anthropic_events(message))
        else:
            say(call, message)

    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.on("/v1/messages")(failing(answer, overloaded_at, 529, error))
    server.on("/v1/messages/count_tokens")(lambda call: say(call, {"input_tokens": 3}))


def completions(server: Upstream, script: Script, path: str = "/v1/chat/completions") -> None:
    """Serve chat completions."""
    count = itertools.count(1)

    def answer(call: Call) -> None:
        asked = json.loads(call.body)
        turn = chosen(script, _prompt(asked["messages"]), _said(asked["messages"]))
        number = next(count)
        head = {"id": f"chatcmpl-{number}", "created": 1700000000 + number, "model": asked["model"]}
        message: dict[str, Any] = {"role": "assistant", "content": turn.text}
        if turn.uses:
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{index}",
                    "type": "function",
                    "function": {"name": use.tool, "arguments": json.dumps(use.arguments)},
                }
                for index, use in enumerate(turn.uses)
            ]
        reason = "tool_calls" if turn.uses else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        if asked.get("stream"):
            _chunks(call, head, message, reason, usage)
        else:
            choice = {"index": 0, "finish_reason": reason, "message": message}
            say(call, head | {"object": "chat.completion", "choices": [choice], "usage": usage})

    server.on(path)(answer)


def _prompt(messages: Sequence[Json]) -> str:
    return next((json.dumps(one["content"]) for one in messages if one["role"] == "user"), "")


def _said(messages: Sequence[Json]) -> int:
    return sum(one["role"] == "assistant" for one in messages)


def _chunks(call: Call, head: Json, message: Json, reason: str, usage: Json) -> None:
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(message["content"])]
    for index, one in enumerate(message.get("tool_calls", ())):
        function = one["function"]
        deltas.append({"tool_calls": [{**one, "index": index, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(function["arguments"])
        ]
    choices = [{"index": 0, "finish_reason": None, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "finish_reason": reason, "delta": {}})
    chunk = {**head, "object": "chat.completion.chunk"}
    call.begin_chunked("text/event-stream")
    for choice in choices:
        _data(call, {**chunk, "choices": [choice]})
    _data(call, {**chunk, "choices": [], "usage": usage})
    call.chunk(b"data: [DONE]\n\n")
    call.chunk(b"")


def _data(call: Call, value: Json) -> None:
    call.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")
    time.sleep(BETWEEN_S)


def responses(server: Upstream, script: Script) -> None:
    """Serve responses."""
    count = itertools.count(1)

    def answer(call: Call) -> None:
        asked = json.loads(call.body)
        items = (
            asked["input"]
            if isinstance(asked["input"], list)
            else [{"role": "user", "content": asked["input"]}]
        )
        prompt = " ".join(json.dumps(one["content"]) for one in items if one.get("role") == "user")
        turn = chosen(script, prompt, _turns(items))
        number = next(count)
        response = _response(number, asked["model"], turn)
        if asked.get("stream"):
            stream(call, _response_events(response))
        else:
            say(call, response)

    server.on("/v1/responses")(answer)


def _turns(items: Iterable[Json]) -> int:
    """How many of the model's turns there are: results that follow one another belong to one."""
    results = [one.get("type", "").endswith("_output") for one in items]
    return sum(now and not before for before, now in itertools.pairwise([False, *results]))


def _response(number: int, model: str, turn: Turn) -> dict[str, Any]:
    part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
    output: list[Json] = [
        {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    ]
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": f"call_{number}_{index}",
            "name": use.tool,
            "arguments": json.dumps(use.arguments),
            "status": "completed",
        }
        for index, use in enumerate(turn.uses)
    ]
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1700000000 + number,
        "model": model,
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage | details,
    }


def _response_events(response: Mapping[str, Any]) -> Iterator[Json]:
    events: list[Json] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    ]
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        events.append(
            {"type": "response.output_item.added", "output_index": index, "item": {**item, **_begun(item)}}
        )
        if item["type"] == "message":
            (part,) = item["content"]
            at = {**place, "content_index": 0}
            events.append({"type": "response.content_part.added", "part": {**part, "text": ""}, **at})
            events += [
                {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **at}
                for piece in pieces(part["text"])
            ]
            events.append({"type": "response.output_text.done", "text": part["text"], "logprobs": [], **at})
            events.append({"type": "response.content_part.done", "part": part, **at})
        else:
            events += [
                {"type": "response.function_call_arguments.delta", "delta": piece, **place}
                for piece in pieces(item["arguments"])
            ]
            done = {"arguments": item["arguments"], "name": item["name"]}
            events.append({"type": "response.function_call_arguments.done", **done, **place})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    return ({**event, "sequence_number": number} for number, event in enumerate(events))


def _begun(item: Json) -> Json:
    return {"status": "in_progress", **({"content": []} if item["type"] == "message" else {"arguments": ""})}


def gemini(script: Script) -> Callable[[Call], None]:
    """Answer the methods of any of Gemini's models."""

    def answer(call: Call) -> None:
        asked = json.loads(call.body or b"{}")
        if ":countTokens" in call.path:
            return say(call, {"totalTokens": 3})
        contents = asked["contents"]
        prompt = " ".join(json.dumps(one["parts"]) for one in contents if one["role"] == "user")
        done = sum(one["role"] == "model" for one in contents)
        turn = chosen(script, prompt, done) if asked.get("tools") else Turn(ASIDE)
        calls = [{"functionCall": {"name": use.tool, "args": use.arguments}} for use in turn.uses]
        texts = [{"text": piece} for piece in pieces(turn.text)]
        if ":streamGenerateContent" not in call.path:
            return say(call, _candidate([{"text": turn.text}, *calls], "STOP"))
        call.begin_chunked("text/event-stream")
        for text in texts:
            _data(call, _candidate([text]))
        _data(call, _candidate(calls or [{"text": ""}], "STOP"))
        return call.chunk(b"")

    return answer


def _candidate(parts: Sequence[Json], reason: str | None = None) -> Json:
    finish = {"finishReason": reason} if reason else {}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"index": 0, "content": content, **finish}], "usageMetadata": usage}
