"""Calls tools over HTTP with the standard library: a session, a list, three calls, one of them denied."""

import itertools
import json
import urllib.request

count = itertools.count(1)
session = ""


def send(method: str, params: dict[str, object] | None = None) -> dict[str, object]:
    """One JSON-RPC request."""
    global session
    message = {"jsonrpc": "2.0", "id": next(count), "method": method, "params": params or {}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    request = urllib.request.Request("https://tools.example/mcp", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        session = answer.headers["Mcp-Session-Id"] or session
        text = answer.read().decode()
    if answer.headers["Content-Type"] == "text/event-stream":
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: "))
    return json.loads(text)


hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
print(send("initialize", hello)["result"]["serverInfo"]["name"], session)
print([tool["name"] for tool in send("tools/list")["result"]["tools"]])
told = ""
for name in ("next", "next", "erase"):
    answer = send("tools/call", {"name": name, "arguments": {"after": told}})
    told = answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"][:40]
    print(name, told)
