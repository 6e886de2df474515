"""The anthropic SDK, asynchronous: three conversations at once, each with two tools."""

import asyncio
import uuid

import anthropic


def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


def lookup(word: str) -> str:
    """Say what a word means: something else in each run."""
    return f"{word} means {uuid.uuid4()}"


RUN = {"add": add, "lookup": lookup}
TOOLS = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in RUN]
ask = {"model": "stub", "max_tokens": 100, "tools": TOOLS}


async def talk(client: anthropic.AsyncAnthropic, prompt: str) -> str:
    """One conversation."""
    messages = [{"role": "user", "content": prompt}]
    answer = await client.messages.create(messages=messages, **ask)
    calls = [part for part in answer.content if part.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": RUN[call.name](**call.input)}
        for call in calls
    ]
    messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    return (await client.messages.create(messages=messages, **ask)).content[0].text


async def main() -> None:
    """All at once."""
    async with anthropic.AsyncAnthropic() as client:
        for text in await asyncio.gather(*(talk(client, prompt) for prompt in ("one", "two", "three"))):
            print(text)


asyncio.run(main())
