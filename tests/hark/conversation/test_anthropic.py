"""Anthropic's messages, as its SDK sends them and its API answers."""

from fidelity.models import anthropic_events
from hark.conversation import anthropic
from hark.conversation.model import ToolCall, ToolResult, Turn, Usage
from tests.hark.conversation.rig import SSE, call, stream

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-4",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {"url": "https://a.example/ü"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 5,
        "output_tokens": 7,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
    },
}
ASKED = {
    "model": "claude-4",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "get", "input_schema": {}}],
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, *MESSAGE["content"]]},  # type: ignore[misc]
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "page"}],
                },
                {"type": "image", "source": {"type": "base64"}},
            ],
        },
    ],
}
CALL = ToolCall("toolu_1", "get", '{"url": "https://a.example/ü"}')


def test_a_request_has_its_turns_calls_and_results() -> None:
    one = call("anthropic", ASKED, MESSAGE)
    assert one.turns == (
        Turn("system", "Be short."),
        Turn("user", "Hi"),
        Turn("assistant", "Let me see.", (CALL,)),
        Turn("user", "[image]", (), (ToolResult("toolu_1", "page"),)),
    )
    assert (one.model, one.tools, one.parameters) == ("claude-4", ("get",), {"max_tokens": 100})


def test_an_answer_and_its_stream_say_the_same() -> None:
    whole = call("anthropic", ASKED, MESSAGE)
    streamed = call("anthropic", ASKED, stream(anthropic_events(MESSAGE)), SSE)
    assert whole.reply is not None
    assert streamed.reply is not None
    assert whole.reply == Turn("assistant", "Let me see.", (CALL,))
    assert (streamed.reply.text, streamed.reply.calls[0].id) == (whole.reply.text, "toolu_1")
    assert streamed.reply.calls[0].arguments == '{"url": "https://a.example/\\u00fc"}'  # as it was written
    for one in (whole, streamed):
        assert (one.usage, one.stop, one.answered_by) == (Usage(125, 7, 100, 20), "tool_use", "claude-4")
    assert (whole.streamed, streamed.streamed) == (False, True)


def test_a_stream_that_breaks_off_gives_what_came() -> None:
    events = list(anthropic_events(MESSAGE))[:4]
    one = call("anthropic", ASKED, stream(events), SSE)
    assert one.reply is not None
    assert (one.reply.text, one.stop) == ("Let me see", "")


def test_an_error_is_no_reply() -> None:
    one = call(
        "anthropic", ASKED, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    )
    assert (one.reply, one.usage) == (None, Usage())


def test_tokens_that_were_put_into_a_cache_are_input_and_counted_apart() -> None:
    kept = {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 15}
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100}
    found = anthropic.whole({"content": [], "usage": usage | {"output_tokens": 7, "cache_creation": kept}})
    assert found.usage == Usage(125, 7, 100, 20, 15)
