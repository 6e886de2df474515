"""Gemini's contents: a request, an answer, the answers of a stream.

https://ai.google.dev/api/generate-content. The model stands in the path. Calls have an id only where the
server gave one; without it a result belongs to the call of its name. Of several candidates the first counts.
Any JSON gives values; see `hark.conversation.model`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from hark.conversation import loose
from hark.conversation.values import Asked, Growing, Reply, ToolCall, ToolResult, Turn, Usage

_MODEL: Final = re.compile(r".*/models/([^/:]+):[A-Za-z]+")


def asked(document: Mapping[str, Any], path: str) -> Asked | None:
    """Return what a request holds; None where it is none. A wrapper has it under `request`."""
    inner = document["request"] if isinstance(document.get("request"), dict) else document
    if not isinstance(inner.get("contents"), list):
        return None
    turns = [_turn(content) for content in loose.objects(inner["contents"])]
    system = _turn(loose.mapping(inner.get("systemInstruction") or inner.get("system_instruction"))).text
    if system:
        turns.insert(0, Turn("system", system))
    named = _MODEL.fullmatch(path)
    return Asked(named[1] if named else loose.text(document.get("model")), tuple(turns), _tools(inner))


def whole(document: Any) -> Reply:
    """Return what an answer holds."""
    return streamed([document])


def streamed(answers: list[Any]) -> Reply:
    """Return what the answers of a stream hold together."""
    growing, model, stop, usage, calls, identity = Growing(), "", "", Usage(), 0, ""
    for answer in loose.objects(answers):
        answer = loose.mapping(answer.get("response")) or answer  # noqa: PLW2901 (the same, unwrapped)
        model = loose.text(answer.get("modelVersion")) or model
        identity = loose.text(answer.get("responseId")) or identity
        if isinstance(answer.get("usageMetadata"), dict):
            usage = _usage(answer["usageMetadata"])
        candidate = next(loose.objects(answer.get("candidates")), {})
        stop = loose.text(candidate.get("finishReason")) or stop
        for part in loose.objects(loose.at(candidate, "content", "parts")):
            if isinstance(part.get("functionCall"), dict):
                one = _call(part["functionCall"])
                growing.call(calls, one.id, one.name, one.arguments)
                calls += 1
            elif part.get("thought") is not True:
                growing.text(0, loose.text(part.get("text")))
    return Reply(growing.turn("model"), model, stop, usage, identity)


def _turn(content: Mapping[str, Any]) -> Turn:
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    for part in loose.objects(content.get("parts")):
        if isinstance(part.get("functionCall"), dict):
            calls.append(_call(part["functionCall"]))
        elif isinstance(part.get("functionResponse"), dict):
            result = part["functionResponse"]
            identity = loose.text(result.get("id")) or loose.text(result.get("name"))
            results.append(ToolResult(identity, loose.dump(result.get("response"))))
        elif part.get("thought") is not True:
            texts.append(loose.text(part.get("text")) or _words(part))
    role = loose.text(content.get("role")) or "user"
    return Turn(role, "\n\n".join(text for text in texts if text), tuple(calls), tuple(results))


def _call(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(loose.text(call.get("id")), loose.text(call.get("name")), loose.dump(call.get("args")))


def _words(part: Mapping[str, Any]) -> str:
    """Return words for a part that is no text."""
    return f"[{next(iter(part))}]" if part and "text" not in part else ""


def _tools(document: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        loose.text(one.get("name"))
        for tool in loose.objects(document.get("tools"))
        for member in ("functionDeclarations", "function_declarations")
        for one in loose.objects(tool.get(member))
    )


def _usage(usage: Any) -> Usage:
    """Return tokens; thoughts are output too, as the other APIs count them."""
    said = loose.number(loose.at(usage, "candidatesTokenCount"))
    thought = loose.number(loose.at(usage, "thoughtsTokenCount"))
    output = None if said is None and thought is None else (said or 0) + (thought or 0)
    cached = loose.number(loose.at(usage, "cachedContentTokenCount"))
    return Usage(loose.number(loose.at(usage, "promptTokenCount")), output, cached)
