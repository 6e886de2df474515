"""Calls tools of a server over stdio, with the standard library; the server says something by itself too."""

import itertools
import json
import subprocess
import uuid

server = subprocess.Popen(["notes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
count = itertools.count(1)


def send(method: str, params: dict[str, object] | None = None) -> dict[str, object]:
    """One JSON-RPC request; what else comes before its answer is printed."""
    number = next(count)
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}) + "\n"
    )
    server.stdin.flush()
    while True:
        message = json.loads(server.stdout.readline())
        if message.get("id") == number:
            return message
        print("by itself:", message["method"])


hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
print(send("initialize", hello)["result"]["serverInfo"])
for name in ("note", "note", "clock", "erase"):
    answer = send("tools/call", {"name": name, "arguments": {"text": str(uuid.uuid4())}})
    print(name, "result" in answer, json.dumps(answer)[:60])
server.stdin.close()
server.wait()
