"""Anthropic's messages: a request, an answer, the events of a streamed one.

https://docs.anthropic.com/en/api/messages. Any JSON gives values; see `hark.conversation.model`.
"""

from collections.abc import Mapping
from typing import Any

from hark.conversation import loose
from hark.conversation.values import Asked, Growing, Reply, ToolCall, ToolResult, Turn, Usage, placeholder


def asked(document: Mapping[str, Any], _path: str) -> Asked | None:
    """Return what a request holds; None where it is none."""
    if not isinstance(document.get("messages"), list):
        return None
    turns = [_turn(message) for message in loose.objects(document["messages"])]
    if system := _said(document.get("system")).text:
        turns.insert(0, Turn("system", system))
    tools = tuple(loose.text(tool.get("name")) for tool in loose.objects(document.get("tools")))
    return Asked(loose.text(document.get("model")), tuple(turns), tools)


def whole(document: Any) -> Reply:
    """Return what an answer holds."""
    content = loose.at(document, "content")
    turn = None if content is None else _said(content, "assistant")
    model, stop = loose.text(loose.at(document, "model")), loose.text(loose.at(document, "stop_reason"))
    identity = loose.text(loose.at(document, "id"))
    return Reply(turn, model, stop, _usage(loose.at(document, "usage")), identity)


def streamed(events: list[Any]) -> Reply:
    """Return what the events of an answer hold together."""
    growing, model, stop, usage, identity = Growing(), "", "", dict[str, Any](), ""
    for event in loose.objects(events):
        index = loose.number(event.get("index")) or 0
        match event.get("type"):
            case "message_start":
                model = loose.text(loose.at(event, "message", "model"))
                identity = loose.text(loose.at(event, "message", "id"))
                usage |= loose.mapping(loose.at(event, "message", "usage"))
                growing.seen = True
            case "content_block_start":
                _start(growing, index, loose.mapping(event.get("content_block")))
            case "content_block_delta":
                _delta(growing, index, loose.mapping(event.get("delta")))
            case "message_delta":
                stop = loose.text(loose.at(event, "delta", "stop_reason")) or stop
                usage |= loose.mapping(event.get("usage"))
    return Reply(growing.turn(), model, stop, _usage(usage), identity)


def _start(growing: Growing, index: int, block: Mapping[str, Any]) -> None:
    if str(block.get("type", "")).endswith("tool_use"):  # server_tool_use and mcp_tool_use likewise
        first = block.get("input")
        piece = loose.dump(first) if first else ""
        growing.call(index, loose.text(block.get("id")), loose.text(block.get("name")), piece)
    elif block.get("type") == "text":
        growing.text(index, loose.text(block.get("text")))


def _delta(growing: Growing, index: int, delta: Mapping[str, Any]) -> None:
    match delta.get("type"):
        case "text_delta":
            growing.text(index, loose.text(delta.get("text")))
        case "input_json_delta":
            growing.call(index, piece=loose.text(delta.get("partial_json")))


def _turn(message: Mapping[str, Any]) -> Turn:
    return _said(message.get("content"), loose.text(message.get("role")))


def _said(content: Any, role: str = "") -> Turn:
    if isinstance(content, str):
        return Turn(role, content)
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    for part in loose.objects(content):
        kind = loose.text(part.get("type"))
        if kind == "text":
            texts.append(loose.text(part.get("text")))
        elif kind.endswith("tool_use"):
            name, arguments = loose.text(part.get("name")), loose.dump(part.get("input"))
            calls.append(ToolCall(loose.text(part.get("id")), name, arguments))
        elif kind.endswith("tool_result"):
            text = _said(part.get("content")).text
            results.append(ToolResult(loose.text(part.get("tool_use_id")), text))
        elif kind not in ("thinking", "redacted_thinking"):
            texts.append(placeholder(part))
    return Turn(role, "\n\n".join(texts), tuple(calls), tuple(results))


def _usage(usage: Any) -> Usage:
    """Return tokens; what came from the cache counts as input too, as the other APIs count it."""
    counts = loose.mapping(usage)
    fresh = loose.number(counts.get("input_tokens"))
    cached = loose.number(counts.get("cache_read_input_tokens"))
    written = loose.number(counts.get("cache_creation_input_tokens"))
    hour = loose.number(loose.at(counts.get("cache_creation"), "ephemeral_1h_input_tokens"))
    total = None if fresh is None else fresh + (cached or 0) + (written or 0)
    return Usage(total, loose.number(counts.get("output_tokens")), cached, written, hour)
