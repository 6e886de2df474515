"""The protocol's own client, with one server over HTTP and one over stdio."""

import asyncio
import uuid

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def use(name: str, where: object) -> None:
    """List the tools and call some."""
    async with Client(where) as client:
        print(name, sorted(tool.name for tool in (await client.list_tools()).tools))
        for tool in ("note", "clock", "erase"):
            try:
                result = await client.call_tool(tool, {"text": str(uuid.uuid4())})
                print(name, tool, result.content[0].text)
            except MCPError as error:
                print(name, tool, "denied", str(error)[:30])


async def main() -> None:
    """First the one, then the other."""
    await use("http", streamable_http_client("http://tools.example/mcp"))
    await use("stdio", stdio_client(StdioServerParameters(command="notes")))


asyncio.run(main())
