"""A call of a model as values, whoever's API it was: turns, tool calls, what came back, and how many tokens.

What always holds: any exchange gives a `ModelCall` or None, and no JSON raises; streamed text is put
together. The shapes are OpenAI's chat completions and responses, Anthropic's messages and Gemini's contents,
as their public references have them; whose a request is, its path says, on whatever host.

Not done here: what led to what (`hark.report.links`), money.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from hark.conversation import anthropic, chat, gemini, loose, responses, sse
from hark.conversation.exchanges import Heard
from hark.conversation.values import Asked, ModelCall, Reply, ToolCall, ToolResult, Turn, Usage

__all__ = ["ModelCall", "ToolCall", "ToolResult", "Turn", "Usage", "model_call"]

type Shape = tuple[str, re.Pattern[str], Any]

_SHAPES: Final = (
    ("anthropic", re.compile(r".*/messages"), anthropic),
    ("openai.chat", re.compile(r".*/chat/completions"), chat),
    ("openai.responses", re.compile(r".*/responses"), responses),
    ("gemini", re.compile(r".*:(?:generateContent|streamGenerateContent)"), gemini),
)
_NO_PARAMETERS: Final = frozenset(
    ("messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction",
     "tools", "model", "stream", "request")
)  # fmt: skip


def model_call(heard: Heard) -> ModelCall | None:
    """Return the call of a model that an exchange is; None where it is no such thing."""
    if heard.method != "POST":
        return None
    path = heard.path.partition("?")[0]
    shape = next((shape for shape in _SHAPES if shape[1].fullmatch(path)), None)
    if shape is None:
        return None
    document = loose.load(heard.body)
    if not isinstance(document, dict):
        return None
    provider, _, reader = shape
    asked: Asked | None = reader.asked(document, path)
    if asked is None:
        return None
    reply, streamed = _reply(heard, reader.whole, reader.streamed)
    return ModelCall(
        provider=provider,
        heard=heard,
        model=asked.model,
        answered_by=reply.model,
        turns=asked.turns,
        reply=reply.turn,
        usage=reply.usage,
        stop=reply.stop,
        streamed=streamed,
        tools=asked.tools,
        parameters=_parameters(document),
        id=reply.id,
    )


def _reply(
    heard: Heard, whole: Callable[[Any], Reply], streamed: Callable[[list[Any]], Reply]
) -> tuple[Reply, bool]:
    if heard.refused or not heard.answer:
        return Reply(), False
    kind = next((value for name, value in heard.answer_headers if name.lower() == b"content-type"), b"")
    if sse.looks_streamed(kind, heard.answer):
        return streamed(list(sse.documents(heard.answer))), True
    document = loose.load(heard.answer)
    if isinstance(document, list):  # Gemini's stream without events
        return streamed(document), True
    return whole(document), False


def _parameters(document: Mapping[str, Any]) -> Mapping[str, object]:
    return {name: value for name, value in document.items() if name not in _NO_PARAMETERS}
