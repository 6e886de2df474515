"""Eight tasks at once on one event loop, each with draws of its own, each going on from what it was told."""

import asyncio
import random
import uuid

import aiohttp


async def work(session: aiohttp.ClientSession, number: int) -> list[str]:
    """Three steps, each with the ticket of the one before."""
    tickets = [""]
    for step in range(3):
        what = {"worker": number, "step": step, "after": tickets[-1], "id": str(uuid.uuid4())}
        what["draw"] = random.random()
        async with session.post("https://api.example/step", json=what) as answer:
            tickets.append((await answer.json())["ticket"])
    return tickets


async def main() -> None:
    """All at once."""
    async with aiohttp.ClientSession() as session:
        for number, tickets in enumerate(await asyncio.gather(*(work(session, n) for n in range(8)))):
            print(number, tickets)


asyncio.run(main())
