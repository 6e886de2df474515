"""The anthropic SDK, one call after the other: a prompt, two tools, the answer; twice."""

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
    answer = client.messages.create(messages=messages, **ask)
    calls = [part for part in answer.content if part.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": RUN[call.name](**call.input)}
        for call in calls
    ]
    messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    print(client.messages.create(messages=messages, **ask).content[0].text)
