"""Model APIs in small: each answers any prompt with `I am a stub`, whole or as a stream of events."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tests.fakes.upstream import Call, Upstream

WORDS: Final = ("I am", " a stub")
TEXT: Final = "".join(WORDS)
BETWEEN_S: Final = 0.02  # between events of a stream: what is written at once arrives as one

type Event = Mapping[str, Any]


def anthropic(server: Upstream) -> None:
    """Serve the Messages API."""
    server.on("/v1/messages")(_messages)
    server.on("/v1/messages/count_tokens")(lambda call: _json(call, {"input_tokens": 3}))


def openai(server: Upstream) -> None:
    """Serve chat completions and responses."""
    server.on("/v1/chat/completions")(_completions)
    server.on("/v1/responses")(_responses)


def gemini(call: Call) -> None:
    """Serve the methods of any model."""
    path = call.path.partition("?")[0]
    if path.endswith(":streamGenerateContent"):
        _gemini_stream(call)
    elif path.endswith(":countTokens"):
        _json(call, {"totalTokens": 3})
    else:
        _json(call, _content(TEXT))


def tools(server: Upstream) -> None:
    """Serve the Model Context Protocol over HTTP at /mcp, with the one tool `echo`."""
    server.on("/mcp")(_tool)


def _tool(call: Call) -> None:
    message = json.loads(call.body) if call.command == "POST" else {}
    if call.command != "POST":
        call.reply(405)
    elif "id" not in message:
        call.reply(202)
    else:
        _json(call, {"jsonrpc": "2.0", "id": message["id"], "result": _result(message)})


def _result(message: Event) -> Event:
    match message["method"]:
        case "initialize":
            info = {"name": "stub", "version": "1"}
            version = message["params"]["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        case _:
            return {"content": [{"type": "text", "text": TEXT}], "isError": False}


def _messages(call: Call) -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 5},
    }
    if not json.loads(call.body).get("stream"):
        _json(call, message | {"content": [{"type": "text", "text": TEXT}]})
        return
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
        for word in WORDS
    ]
    start = message | {"content": [], "stop_reason": None}
    events: list[Event] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    _stream(call, events)


def _completions(call: Call) -> None:
    head = {"id": "c1", "created": 1, "model": "stub"}
    if not json.loads(call.body).get("stream"):
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}
        usage = {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
        _json(call, head | {"object": "chat.completion", "choices": [choice], "usage": usage})
        return
    chunk = head | {"object": "chat.completion.chunk"}
    call.begin_chunked("text/event-stream")
    for word in WORDS:
        choice = {"index": 0, "finish_reason": None, "delta": {"role": "assistant", "content": word}}
        call.chunk(b"data: " + json.dumps(chunk | {"choices": [choice]}).encode() + b"\n\n")
    call.chunk(b"data: [DONE]\n\n")
    call.chunk(b"")


def _responses(call: Call) -> None:
    part = {"type": "output_text", "text": TEXT, "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 4,
    }
    response = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "stub",
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }
    if not json.loads(call.body).get("stream"):
        _json(call, response)
        return
    place = {"output_index": 0, "item_id": "m1"}
    empty = item | {"content": [], "status": "in_progress"}
    deltas = [
        {"type": "response.output_text.delta", "content_index": 0, "delta": word, **place} for word in WORDS
    ]
    events: list[Event] = [
        {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": empty},
        {"type": "response.content_part.added", "content_index": 0, "part": part | {"text": ""}, **place},
        *deltas,
        {"type": "response.output_text.done", "content_index": 0, "text": TEXT, **place},
        {"type": "response.content_part.done", "content_index": 0, "part": part, **place},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    _stream(call, [event | {"sequence_number": number} for number, event in enumerate(events)])


def _content(text: str) -> Event:
    candidate = {
        "index": 0,
        "content": {"role": "model", "parts": [{"text": text}]},
        "finishReason": "STOP",
    }
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 3, "totalTokenCount": 4}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub"}


def _gemini_stream(call: Call) -> None:
    call.begin_chunked("text/event-stream")
    for word in WORDS:
        call.chunk(b"data: " + json.dumps(_content(word)).encode() + b"\r\n\r\n")
    call.chunk(b"")


def _json(call: Call, value: Event) -> None:
    call.reply(200, json.dumps(value).encode(), [("Content-Type", "application/json")])


def _stream(call: Call, events: Iterable[Event]) -> None:
    call.begin_chunked("text/event-stream")
    for event in events:
        call.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        time.sleep(BETWEEN_S)
    call.chunk(b"")
