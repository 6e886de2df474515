"""HTTP/2: requests one after the other on one connection, then six at once on it."""

import asyncio
import uuid

import httpx


async def main() -> None:
    """One connection for all."""
    async with httpx.AsyncClient(http1=False, http2=True, timeout=60) as client:
        for number in range(3):
            answer = await client.post("https://api.example/one", json={"n": number, "id": str(uuid.uuid4())})
            print(answer.http_version, answer.status_code, answer.json()["length"])
        asks = (client.get(f"https://api.example/many/{number}") for number in range(6))
        for answer in await asyncio.gather(*asks):
            print(answer.http_version, answer.json()["path"])


asyncio.run(main())
