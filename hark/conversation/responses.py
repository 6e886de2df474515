"""OpenAI's responses: a request, an answer, the events of a streamed one.

https://platform.openai.com/docs/api-reference/responses. Items that follow one another and are of one side
are one turn. Any JSON gives values; see `hark.conversation.model`.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from hark.conversation import loose
from hark.conversation.values import Asked, Growing, Reply, ToolCall, ToolResult, Turn, Usage, placeholder


def asked(document: Mapping[str, Any], _path: str) -> Asked | None:
    """Return what a request holds; None where it is none."""
    given = document.get("input")
    if not isinstance(given, str | list):
        return None
    turns = [Turn("user", given)] if isinstance(given, str) else list(_turns(given))
    if instructions := loose.text(document.get("instructions")):
        turns.insert(0, Turn("system", instructions))
    tools = (
        loose.text(tool.get("name") or tool.get("type")) for tool in loose.objects(document.get("tools"))
    )
    return Asked(loose.text(document.get("model")), tuple(turns), tuple(tools))


def whole(document: Any) -> Reply:
    """Return what an answer holds."""
    output = loose.at(document, "output")
    turns = list(_turns(output))
    turn = None
    if isinstance(output, list):
        text = "\n\n".join(turn.text for turn in turns if turn.text)
        turn = Turn("assistant", text, tuple(call for turn in turns for call in turn.calls))
    model, identity = loose.text(loose.at(document, "model")), loose.text(loose.at(document, "id"))
    return Reply(turn, model, _stop(document), _usage(document), identity)


def streamed(events: list[Any]) -> Reply:
    """Return what the events of an answer hold together; the last one repeats it whole."""
    growing, last = Growing(), None
    for event in loose.objects(events):
        place, kind = loose.number(event.get("output_index")) or 0, loose.text(event.get("type"))
        if isinstance(event.get("response"), dict):
            last = event["response"]
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                growing.text(
                    (place, loose.number(event.get("content_index"))), loose.text(event.get("delta"))
                )
            case "response.output_item.added":
                item = loose.mapping(event.get("item"))
                if _is_call(item):
                    growing.call(place, _identity(item), loose.text(item.get("name")))
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                growing.call(place, piece=loose.text(event.get("delta")))
            case "response.function_call_arguments.done":
                growing.replace_arguments(place, loose.text(event.get("arguments")))
    reply = whole(last)
    turn = reply.turn if reply.turn is not None and (reply.turn.text or reply.turn.calls) else growing.turn()
    return Reply(turn, reply.model, reply.stop, reply.usage, reply.id)


def _turns(given: Any) -> Iterator[Turn]:
    for role, group in groupby(loose.objects(given), _side):
        listed = list(group)
        texts = [_text(item) for item in listed]
        calls = tuple(_call(item) for item in listed if _is_call(item))
        results = tuple(_result(item) for item in listed if _is_result(item))
        text = "\n\n".join(text for text in texts if text)
        if text or calls or results:
            yield Turn(role, text, calls, results)


def _side(item: Mapping[str, Any]) -> str:
    if _is_result(item):
        return "tool"
    return loose.text(item.get("role")) or "assistant"


def _is_call(item: Mapping[str, Any]) -> bool:
    return loose.text(item.get("type")).endswith("_call")


def _is_result(item: Mapping[str, Any]) -> bool:
    return loose.text(item.get("type")).endswith("_call_output")


def _identity(item: Mapping[str, Any]) -> str:
    return loose.text(item.get("call_id") or item.get("id"))


def _call(item: Mapping[str, Any]) -> ToolCall:
    arguments = item.get("arguments", item.get("input", item.get("action")))
    written = arguments if isinstance(arguments, str) else loose.dump(arguments)
    name = loose.text(item.get("name")) or loose.text(item.get("type")).removesuffix("_call")
    return ToolCall(_identity(item), name, written)


def _result(item: Mapping[str, Any]) -> ToolResult:
    output = item.get("output")
    text = output if isinstance(output, str) else _parts(output) or loose.dump(output)
    return ToolResult(_identity(item), text)


def _text(item: Mapping[str, Any]) -> str:
    """Return a message's text. Items without a content, reasoning among them, have none."""
    content = item.get("content")
    if loose.text(item.get("type")) not in ("", "message"):
        return ""
    return content if isinstance(content, str) else _parts(content)


def _parts(content: Any) -> str:
    parts = loose.objects(content)
    return "\n\n".join(
        loose.text(part.get("text")) or loose.text(part.get("refusal")) or placeholder(part) for part in parts
    )


def _stop(document: Any) -> str:
    """Return why it ended: what was incomplete, else the status."""
    reason = loose.text(loose.at(document, "incomplete_details", "reason"))
    return reason or loose.text(loose.at(document, "status"))


def _usage(document: Any) -> Usage:
    usage = loose.at(document, "usage")
    return Usage(
        loose.number(loose.at(usage, "input_tokens")),
        loose.number(loose.at(usage, "output_tokens")),
        loose.number(loose.at(usage, "input_tokens_details", "cached_tokens")),
    )
