"""A tool server for the shapes, made with the protocol's own library: over stdio, or on a port."""

import sys
import time

from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")
notes: list[str] = []


@server.tool()
def note(text: str) -> str:
    """Keep a note."""
    notes.append(text)
    return f"noted {len(notes)}"


@server.tool()
def clock(text: str) -> str:
    """Tell this server's time."""
    return f"{time.time_ns()} for {text}"


@server.tool()
def erase(text: str) -> str:
    """Forget."""
    notes.clear()
    return text


if sys.argv[1:]:
    from mcp.server.transport_security import TransportSecuritySettings

    any_host = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), transport_security=any_host)
else:
    server.run()
