"""The openai SDK, streaming: text and tool calls come in pieces."""

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
    calls: dict[int, dict[str, str]] = {}
    for chunk in client.chat.completions.create(messages=messages, stream=True, **ask):
        for piece in chunk.choices[0].delta.tool_calls or ():
            call = calls.setdefault(
                piece.index, {"id": piece.id, "name": piece.function.name, "arguments": ""}
            )
            call["arguments"] += piece.function.arguments or ""
    asked = [
        {
            "id": one["id"],
            "type": "function",
            "function": {"name": one["name"], "arguments": one["arguments"]},
        }
        for one in calls.values()
    ]
    messages.append({"role": "assistant", "tool_calls": asked})
    for one in calls.values():
        result = RUN[one["name"]](**json.loads(one["arguments"]))
        messages.append({"role": "tool", "tool_call_id": one["id"], "content": result})
    chunks = client.chat.completions.create(messages=messages, stream=True, **ask)
    print("".join(chunk.choices[0].delta.content or "" for chunk in chunks))
