"""OpenAI's chat completions, which many other servers speak: a request, an answer, the chunks of a stream.

https://platform.openai.com/docs/api-reference/chat. Of several choices the first counts. Any JSON gives
values; see `hark.conversation.model`.
"""

from collections.abc import Mapping
from typing import Any

from hark.conversation import loose
from hark.conversation.values import Asked, Growing, Reply, ToolCall, ToolResult, Turn, Usage, placeholder


def asked(document: Mapping[str, Any], _path: str) -> Asked | None:
    """Return what a request holds; None where it is none."""
    if not isinstance(document.get("messages"), list):
        return None
    turns = tuple(_turn(message) for message in loose.objects(document["messages"]))
    tools = tuple(_tool_name(tool) for tool in loose.objects(document.get("tools")))
    return Asked(loose.text(document.get("model")), turns, tools)


def whole(document: Any) -> Reply:
    """Return what an answer holds."""
    choice = next(loose.objects(loose.at(document, "choices")), {})
    message = choice.get("message")
    turn = _turn(message) if isinstance(message, dict) else None
    stop = loose.text(choice.get("finish_reason"))
    model, identity = loose.text(loose.at(document, "model")), loose.text(loose.at(document, "id"))
    return Reply(turn, model, stop, _usage(loose.at(document, "usage")), identity)


def streamed(chunks: list[Any]) -> Reply:
    """Return what the chunks of an answer hold together."""
    growing, model, stop, usage, identity = Growing(), "", "", Usage(), ""
    for chunk in loose.objects(chunks):
        model = loose.text(chunk.get("model")) or model
        identity = loose.text(chunk.get("id")) or identity
        if isinstance(chunk.get("usage"), dict):
            usage = _usage(chunk["usage"])
        for choice in loose.objects(chunk.get("choices")):
            if not loose.number(choice.get("index")):
                _delta(growing, loose.mapping(choice.get("delta")))
                stop = loose.text(choice.get("finish_reason")) or stop
    return Reply(growing.turn(), model, stop, usage, identity)


def _delta(growing: Growing, delta: Mapping[str, Any]) -> None:
    for name in ("content", "refusal"):
        if isinstance(delta.get(name), str):
            growing.text(name, delta[name])
    for place, call in enumerate(loose.objects(delta.get("tool_calls"))):
        index, function = loose.number(call.get("index")), loose.mapping(call.get("function"))
        name, piece = loose.text(function.get("name")), loose.text(function.get("arguments"))
        growing.call(place if index is None else index, loose.text(call.get("id")), name, piece)


def _turn(message: Mapping[str, Any]) -> Turn:
    role, text = loose.text(message.get("role")), _text(message.get("content"))
    if role == "tool":
        return Turn(role, "", results=(ToolResult(loose.text(message.get("tool_call_id")), text),))
    text = text or loose.text(message.get("refusal"))
    return Turn(role, text, tuple(_call(call) for call in loose.objects(message.get("tool_calls"))))


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = loose.mapping(call.get("function") or call.get("custom"))
    arguments = loose.text(function.get("arguments") or function.get("input"))
    return ToolCall(loose.text(call.get("id")), loose.text(function.get("name")), arguments)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (loose.text(part.get("text")) or placeholder(part) for part in loose.objects(content))
    return "\n\n".join(parts)


def _tool_name(tool: Mapping[str, Any]) -> str:
    return loose.text(loose.at(tool, "function", "name")) or loose.text(tool.get("type"))


def _usage(usage: Any) -> Usage:
    return Usage(
        loose.number(loose.at(usage, "prompt_tokens")),
        loose.number(loose.at(usage, "completion_tokens")),
        loose.number(loose.at(usage, "prompt_tokens_details", "cached_tokens")),
    )
