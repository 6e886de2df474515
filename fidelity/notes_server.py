"""A tool server over stdio for the shapes, with the standard library alone: notes, counted and dated."""

import json
import sys
import time


def say(message: object) -> None:
    """One line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until the input ends."""
    notes = []
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "initialize":
            result = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"},
            }
        elif message["params"].get("name") == "clock":
            result = {"content": [{"type": "text", "text": str(time.time_ns())}], "isError": False}
        else:
            notes.append(message["params"]["arguments"]["text"])
            say(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/message",
                    "params": {"level": "info", "data": "noted"},
                }
            )
            result = {"content": [{"type": "text", "text": f"noted {len(notes)}"}], "isError": False}
        say({"jsonrpc": "2.0", "id": message["id"], "result": result})


main()
