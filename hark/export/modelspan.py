"""A call of a model in the words of OpenTelemetry's conventions for generative AI.

What always holds: without `content` nothing of what was said is in it, no prompt, answer, argument or result.
A value that a request does not have, or has as another type, is left out.

The conventions are those of `hark.export.otlp.SCHEMA`. Not done here: embeddings, and what a provider adds.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from hark.conversation import loose
from hark.conversation.values import ModelCall, Turn
from hark.export.otlpvalue import Value
from hark.policy.model import covers

_BY_HOST: Final = (
    ("api.openai.com", "openai"),
    ("*.openai.azure.com", "azure.ai.openai"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("cloudcode-pa.googleapis.com", "gcp.gen_ai"),
    ("*.googleapis.com", "gcp.vertex_ai"),
    ("api.x.ai", "x_ai"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.deepseek.com", "deepseek"),
    ("api.perplexity.ai", "perplexity"),
)
_BY_SHAPE: Final = {
    "openai.chat": "openai",
    "openai.responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gcp.gen_ai",
}
"""Whose telemetry it is like, where the host is nobody's that is known: a gateway, a server of one's own."""
_GEMINI: Final = "gemini"


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _strings(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return (value,)
    found = tuple(one for one in loose.items(value) if isinstance(one, str))
    return found or None


_PARAMETERS: Final[tuple[tuple[str, Callable[[Any], Value | None], tuple[str, ...]], ...]] = (
    ("gen_ai.request.temperature", _float, ("temperature",)),
    ("gen_ai.request.top_p", _float, ("top_p", "topP")),
    ("gen_ai.request.top_k", _float, ("top_k", "topK")),
    ("gen_ai.request.frequency_penalty", _float, ("frequency_penalty", "frequencyPenalty")),
    ("gen_ai.request.presence_penalty", _float, ("presence_penalty", "presencePenalty")),
    ("gen_ai.request.seed", loose.number, ("seed",)),
    ("gen_ai.request.choice.count", loose.number, ("n", "candidateCount")),
    (
        "gen_ai.request.max_tokens",
        loose.number,
        ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"),
    ),
    ("gen_ai.request.stop_sequences", _strings, ("stop", "stop_sequences", "stopSequences")),
)


def operation(call: ModelCall) -> str:
    """Return what the conventions call it."""
    return "generate_content" if call.provider == _GEMINI else "chat"


def named(call: ModelCall) -> str:
    """Return the span's name."""
    return f"{operation(call)} {call.model}".rstrip()


def provider(call: ModelCall) -> str:
    """Return whose model was asked, as far as the host says it."""
    known = (name for pattern, name in _BY_HOST if covers(pattern, call.heard.host))
    return next(known, _BY_SHAPE[call.provider])


def found(call: ModelCall, *, content: bool) -> dict[str, Value | None]:
    """Return the attributes of a call."""
    usage, heard = call.usage, call.heard
    first = heard.answer_times[0].time_ns if call.streamed and heard.answer_times else None
    return {
        "gen_ai.operation.name": operation(call),
        "gen_ai.provider.name": provider(call),
        "gen_ai.request.model": call.model or None,
        **dict(_parameters(call.parameters)),
        "gen_ai.request.stream": True if call.streamed else None,
        "gen_ai.response.id": call.id or None,
        "gen_ai.response.model": call.answered_by or None,
        "gen_ai.response.finish_reasons": (call.stop,) if call.stop else None,
        "gen_ai.response.time_to_first_chunk": None if first is None else (first - heard.time_ns) / 1e9,
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_creation.input_tokens": usage.written,
        **(_content(call) if content else {}),
    }


def _parameters(given: Mapping[str, object]) -> Iterator[tuple[str, Value | None]]:
    """Yield what a request asks for; Gemini has it in a member of its own."""
    inner = {**given, **loose.mapping(given.get("generationConfig") or given.get("generation_config"))}
    for key, read, names in _PARAMETERS:
        value = next((inner[name] for name in names if name in inner), None)
        yield key, read(value)


def _content(call: ModelCall) -> dict[str, Value | None]:
    """Return what was said as JSON in text: a span's attributes hold no structures in every program."""
    system = [part for turn in call.turns if turn.role == "system" for part in _parts(turn)]
    said = [_message(turn) for turn in call.turns if turn.role != "system"]
    answered = [] if call.reply is None else [_message(call.reply) | {"finish_reason": call.stop}]
    return {
        "gen_ai.system_instructions": _json(system),
        "gen_ai.input.messages": _json(said),
        "gen_ai.output.messages": _json(answered),
    }


def _json(value: list[dict[str, object]]) -> str | None:
    return json.dumps(value) if value else None


def _message(turn: Turn) -> dict[str, object]:
    role = "tool" if turn.results and not turn.text else "assistant" if turn.role == "model" else turn.role
    return {"role": role, "parts": list(_parts(turn))}


def _parts(turn: Turn) -> Iterable[dict[str, object]]:
    if turn.text:
        yield {"type": "text", "content": turn.text}
    for call in turn.calls:
        arguments = loose.load(call.arguments)
        yield {
            "type": "tool_call",
            "id": call.id or None,
            "name": call.name,
            "arguments": call.arguments if arguments is None else arguments,
        }
    for result in turn.results:
        yield {"type": "tool_call_response", "id": result.id or None, "response": result.text}
