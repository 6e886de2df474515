"""The anthropic SDK, streaming: text and tool calls come in pieces."""

import uuid

import anthropic

client = anthropic.Anthropic()


def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


def lookup(word: str) -> str:
    """Say what a word means: something else in each run."""
    return f"{word} means {uuid.uuid4()}"


RUN = {"add": add, "lookup": lookup}
TOOLS = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in RUN]
ask = {"model": "stub", "max_tokens": 100, "tools": TOOLS}
for prompt in ("first", "second"):
    messages = [{"role": "user", "content": prompt}]
    with client.messages.stream(messages=messages, **ask) as stream:
        print("|".join(stream.text_stream))
        answer = stream.get_final_message()
    calls = [part for part in answer.content if part.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": RUN[call.name](**call.input)}
        for call in calls
    ]
    messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    with client.messages.stream(messages=messages, **ask) as stream:
        print("".join(stream.text_stream))
