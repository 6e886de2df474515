"""OpenAI's chat completions, as its SDK sends them and its API answers."""

from typing import Any

from hark.conversation.model import ToolCall, ToolResult, Turn, Usage
from tests.hark.conversation.rig import SSE, call, stream

CALLS = [
    {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
    {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
]
ASKED = {
    "model": "gpt-5",
    "stream": True,
    "temperature": 0,
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {}}}, {"type": "custom"}],
    "messages": [
        {"role": "developer", "content": "Be short."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "call_1", "content": "41"},
    ],
}
BOTH = (ToolCall("call_1", "add", '{"a": 1}'), ToolCall("call_2", "look", "{}"))
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 8},
}


def delta(value: Any, reason: str | None = None, index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": value, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "model": "gpt-5-1", "choices": [choice]}


def test_a_request_and_a_whole_answer() -> None:
    message = {"role": "assistant", "content": "So.", "tool_calls": CALLS}
    answer = {
        "model": "gpt-5-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": USAGE,
    }
    one = call("openai.chat", ASKED, answer)
    assert one.turns == (
        Turn("developer", "Be short."),
        Turn("user", "Hi\n\n[image_url]"),
        Turn("assistant", "", BOTH),
        Turn("tool", "", (), (ToolResult("call_1", "41"),)),
    )
    assert one.reply == Turn("assistant", "So.", BOTH)
    assert (one.tools, one.parameters) == (("add", "custom"), {"temperature": 0})
    assert (one.usage, one.stop, one.answered_by, one.streamed) == (
        Usage(9, 4, 8),
        "tool_calls",
        "gpt-5-1",
        False,
    )


def test_chunks_are_put_together_by_the_index_of_each_call() -> None:
    chunks = [
        delta({"role": "assistant", "content": ""}),
        delta({"content": "S"}),
        delta({"content": "other choice"}, index=1),
        delta({"content": "o."}),
        *(
            delta({"tool_calls": [{**one, "index": at, "function": {**one["function"], "arguments": ""}}]})
            for at, one in enumerate(CALLS)
        ),  # type: ignore[dict-item]
        delta({"tool_calls": [{"index": 1, "function": {"arguments": "{"}}]}),
        delta({"tool_calls": [{"index": 0, "function": {"arguments": '{"a": 1}'}}]}),
        delta({"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]}),
        delta({}, "tool_calls"),
        {"id": "c", "choices": [], "usage": USAGE},
    ]
    one = call("openai.chat", ASKED, stream(chunks) + b"data: [DONE]\n\n", SSE)
    assert one.reply == Turn("assistant", "So.", BOTH)
    assert (one.usage, one.stop, one.streamed) == (Usage(9, 4, 8), "tool_calls", True)
