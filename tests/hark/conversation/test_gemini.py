"""Gemini's contents, as its SDK sends them and its API answers."""

import json

from hark.conversation.model import ToolCall, ToolResult, Turn, Usage, model_call
from tests.hark.conversation.rig import SSE, call, heard, stream

ASKED = {
    "systemInstruction": {"parts": [{"text": "Be short."}]},
    "tools": [{"functionDeclarations": [{"name": "add"}]}],
    "generationConfig": {"temperature": 0},
    "contents": [
        {"role": "user", "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"result": 41}}}]},
    ],
}
USAGE = {
    "promptTokenCount": 9,
    "candidatesTokenCount": 4,
    "thoughtsTokenCount": 2,
    "cachedContentTokenCount": 8,
}


def answer(*parts: object, reason: str | None = None) -> dict[str, object]:
    finish = {"finishReason": reason} if reason else {}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **finish}
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "gemini-2.5-pro-1"}


PIECES = [
    answer({"text": "hm", "thought": True}),
    answer({"text": "S"}),
    answer({"text": "o."}),
    answer(
        {"functionCall": {"name": "add", "args": {"a": 1}}},
        {"functionCall": {"id": "x", "name": "add"}},
        reason="STOP",
    ),
]
REPLY = Turn("model", "So.", (ToolCall("", "add", '{"a": 1}'), ToolCall("x", "add", "null")))


def test_a_request_has_its_turns_calls_and_results() -> None:
    one = call("gemini", ASKED)
    assert one.turns == (
        Turn("system", "Be short."),
        Turn("user", "Hi\n\n[inlineData]"),
        Turn("model", "", (ToolCall("", "add", '{"a": 1}'),)),
        Turn("user", "", (), (ToolResult("add", '{"result": 41}'),)),
    )
    assert (one.model, one.tools, list(one.parameters)) == ("gemini-2.5-pro", ("add",), ["generationConfig"])


def test_streams_of_both_kinds_are_put_together() -> None:
    for body, kind in ((stream(PIECES, "\r\n"), SSE), (json.dumps(PIECES).encode(), "application/json")):
        one = call("gemini", ASKED, body, kind)
        assert (one.reply, one.usage, one.stop, one.streamed) == (REPLY, Usage(9, 6, 8), "STOP", True)
        assert one.answered_by == "gemini-2.5-pro-1"


def test_a_request_in_a_wrapper_is_one_too() -> None:
    one = model_call(
        heard(
            "/v1internal:streamGenerateContent",
            {"model": "g", "request": ASKED},
            stream([{"response": PIECES[1]}]),
            SSE,
        )
    )
    assert one is not None
    assert (one.model, len(one.turns), one.reply) == ("g", 4, Turn("model", "S"))
