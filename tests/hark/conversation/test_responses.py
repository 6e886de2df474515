"""OpenAI's responses, as its SDK sends them and its API answers."""

from fidelity import scripted
from hark.conversation.model import ToolCall, ToolResult, Turn, Usage
from tests.hark.conversation.rig import SSE, call, stream

ASKED = {
    "model": "gpt-5",
    "instructions": "Be short.",
    "store": False,
    "tools": [{"type": "function", "name": "run", "parameters": {}}, {"type": "web_search"}],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "hm"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "run", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
    ],
}
ANSWER = scripted._response(1, "gpt-5-1", scripted.Turn("I look.", [scripted.Use("run", {"command": "ls"})]))
REPLY = Turn("assistant", "I look.", (ToolCall("call_1_0", "run", '{"command": "ls"}'),))


def test_items_of_one_side_are_one_turn() -> None:
    one = call("openai.responses", ASKED, ANSWER)
    assert one.turns == (
        Turn("system", "Be short."),
        Turn("user", "Hi"),
        Turn("assistant", "I look.", (ToolCall("call_1", "run", '{"a": 1}'),)),
        Turn("tool", "", (), (ToolResult("call_1", "done"),)),
    )
    assert (one.tools, one.parameters) == (("run", "web_search"), {"store": False})
    assert call("openai.responses", {"model": "m", "input": "Hi"}).turns == (Turn("user", "Hi"),)


def test_an_answer_its_stream_and_a_stream_that_broke_off_say_the_same() -> None:
    events = list(scripted._response_events(ANSWER))
    whole, streamed, cut = (
        call("openai.responses", ASKED, ANSWER),
        call("openai.responses", ASKED, stream(events), SSE),
        call("openai.responses", ASKED, stream(events[:-1]), SSE),
    )
    assert whole.reply == streamed.reply == cut.reply == REPLY
    assert whole.usage == streamed.usage == Usage(10, 10, 0)
    assert (whole.stop, streamed.stop, streamed.answered_by) == ("completed", "completed", "gpt-5-1")
    assert (cut.stop, cut.usage) == ("in_progress", Usage(10, 10, 0))


def test_why_it_is_incomplete_is_the_reason_that_it_stopped() -> None:
    short = {**ANSWER, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert call("openai.responses", ASKED, short).stop == "max_output_tokens"
