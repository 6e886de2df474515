"""The openai SDK, asynchronous: three conversations at once, each with two tools."""

import asyncio
import json
import uuid

import openai


def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


def lookup(word: str) -> str:
    """Say what a word means: something else in each run."""
    return f"{word} means {uuid.uuid4()}"


RUN = {"add": add, "lookup": lookup}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in RUN]
ask = {"model": "stub", "tools": TOOLS}


async def talk(client: openai.AsyncOpenAI, prompt: str) -> str:
    """One conversation."""
    messages = [{"role": "user", "content": prompt}]
    said = (await client.chat.completions.create(messages=messages, **ask)).choices[0].message
    messages.append(said)
    for call in said.tool_calls:
        result = RUN[call.function.name](**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return (await client.chat.completions.create(messages=messages, **ask)).choices[0].message.content


async def main() -> None:
    """All at once."""
    async with openai.AsyncOpenAI() as client:
        for text in await asyncio.gather(*(talk(client, prompt) for prompt in ("one", "two", "three"))):
            print(text)


asyncio.run(main())
