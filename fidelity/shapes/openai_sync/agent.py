"""The openai SDK, one call after the other: a prompt, two tools, the answer; twice."""

import json
import uuid

import openai

client = openai.OpenAI()


def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


def lookup(word: str) -> str:
    """Say what a word means: something else in each run."""
    return f"{word} means {uuid.uuid4()}"


RUN = {"add": add, "lookup": lookup}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in RUN]
ask = {"model": "stub", "tools": TOOLS}
for prompt in ("first", "second"):
    messages = [{"role": "user", "content": prompt}]
    said = client.chat.completions.create(messages=messages, **ask).choices[0].message
    messages.append(said)
    for call in said.tool_calls:
        result = RUN[call.function.name](**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(client.chat.completions.create(messages=messages, **ask).choices[0].message.content)
