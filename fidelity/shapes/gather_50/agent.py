"""Fifty tasks at once, whose answers come in another order than their requests went."""

import asyncio
import random
import uuid

import aiohttp

order: list[int] = []


async def work(session: aiohttp.ClientSession, number: int) -> None:
    """One step; the order in which tasks go on is part of the last request."""
    what = {"worker": number, "step": 0, "after": "", "id": str(uuid.uuid4()), "draw": random.random()}
    async with session.post("https://api.example/step", json=what) as answer:
        await answer.json()
    order.append(number)


async def main() -> None:
    """All at once, over at most 20 connections."""
    connector = aiohttp.TCPConnector(limit=20)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(work(session, number) for number in range(50)))
        async with session.post("https://api.example/order", json=order) as answer:
            print(answer.status, len(await answer.read()), order)


asyncio.run(main())
