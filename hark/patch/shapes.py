"""Streams of model APIs: which strings of their events are pieces of one text, and what that text is.

What always holds: any JSON gives an answer. The shapes are those of OpenAI's chat completions and responses,
Anthropic's messages and Gemini's contents, as their public references have them; a stream that looks alike is
taken alike, whoever serves it.
"""

from collections.abc import Mapping
from typing import Any, Final

from hark.patch.jsontext import Path

_OF_A_CHOICE: Final[Mapping[Path, str]] = {
    ("delta", "content"): "text",
    ("delta", "refusal"): "refusal",
    ("delta", "reasoning"): "reasoning",
    ("delta", "reasoning_content"): "reasoning",
    ("delta", "function_call", "arguments"): "arguments",
    ("text",): "text",  # completions before chat
}
_OF_A_BLOCK: Final = {"text": "text", "thinking": "thinking", "partial_json": "input"}
_WORDS_OF_A_PROTOCOL: Final = frozenset(
    ("type", "object", "role", "id", "finish_reason", "finishReason", "stop_reason", "status", "signature",
     "thoughtSignature", "encrypted_content", "model", "modelVersion", "obfuscation", "system_fingerprint")
)  # fmt: skip
_OF_A_MODEL_API: Final = frozenset(
    ("choices", "candidates", "contents", "messages", "content_block", "delta", "item_id", "content_index")
)


def text_of(document: Any, path: Path) -> str:
    """Name the text that the string at `path` is a piece of; empty where it stands for itself."""
    if isinstance(document, list):  # Gemini's stream without events: one list, item by item
        return text_of(document[int(path[0])], path[1:]) if len(path) > 1 else ""
    match path:
        case ("choices", int(number), *rest):
            return _choice(document["choices"][number], number, tuple(rest))
        case ("delta", str(member)) if _is(document, "content_block_delta"):
            return _block(document, member)
        case ("content_block", str(member)) if _is(document, "content_block_start"):
            return _block(document, member)
        case ("delta",) if str(document.get("type", "")).startswith("response."):
            return _of_response(document)
        case ("candidates", int(number), "content", "parts", int(part), "text"):
            return _candidate(document["candidates"][number], number, part)
        case _:
            return ""


def is_of_model_api(document: Any) -> bool:
    """Tell whether a document looks like a request, an answer or an event of a model API."""
    if isinstance(document, list):
        return any(is_of_model_api(item) for item in document[:1] if isinstance(item, dict))
    return isinstance(document, dict) and (
        not _OF_A_MODEL_API.isdisjoint(document)
        or ("model" in document and not {"input", "output", "content", "prompt"}.isdisjoint(document))
        or str(document.get("type", "")).startswith(("response.", "message_", "content_block"))
    )


def is_of_protocol(path: Path) -> bool:
    """Tell whether a string of a model API says what something is, and is no text that anybody reads."""
    last = next((step for step in reversed(path) if isinstance(step, str)), "")
    return last in _WORDS_OF_A_PROTOCOL or last.endswith("_id")


def _choice(choice: Any, number: int, rest: Path) -> str:
    place = _index(choice, number)
    if rest in _OF_A_CHOICE:
        return f"{_OF_A_CHOICE[rest]} of choice {place}"
    match rest:
        case ("delta", "tool_calls", int(call), "function", "arguments"):
            number = _index(choice["delta"]["tool_calls"][call], call)
            return f"arguments of tool call {number} of choice {place}"
        case _:
            return ""


def _block(document: Any, member: str) -> str:
    what = _OF_A_BLOCK.get(member, "")
    return f"{what} of block {_index(document, 0)}" if what else ""


def _of_response(document: Any) -> str:
    kind = str(document["type"])
    if not kind.endswith(".delta"):
        return ""
    places = [
        f"{what} {document[name]}"
        for name, what in (("output_index", "output"), ("content_index", "part"), ("summary_index", "part"))
        if isinstance(document.get(name), int)
    ]
    what = kind.removeprefix("response.").removesuffix(".delta").replace("_", " ")
    return f"{what} of {', '.join(places) or 'the response'}"


def _candidate(candidate: Any, number: int, part: int) -> str:
    thought = candidate["content"]["parts"][part].get("thought") is True
    return f"{'thought' if thought else 'text'} of candidate {_index(candidate, number)}"


def _is(document: Any, kind: str) -> bool:
    return isinstance(document, dict) and document.get("type") == kind


def _index(value: Any, otherwise: int) -> int:
    """Return what a piece says of its own place. True is no number."""
    index = value.get("index") if isinstance(value, dict) else None
    return index if type(index) is int else otherwise
