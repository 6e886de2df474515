"""A tool server over stdio with the standard library alone, and every fault that one can have.

Tools: echo (gives its arguments back), env (its environment), leak (a variable, in the form asked for), hang,
exit, junk, long, orphan (starts a process that outlives it and gives its number).
"""

import base64
import io
import json
import os
import subprocess
import sys


def main() -> None:
    """Answer until the input ends; what was seen goes into the file SEEN."""
    for line in io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8"):  # as the protocol's own library reads
        if seen := os.environ.get("SEEN"):
            with open(seen, "a") as file:
                file.write(line)
        try:
            message = json.loads(line)
        except ValueError:
            continue
        for one in message if isinstance(message, list) else [message]:
            if isinstance(one, dict) and "id" in one and "method" in one:
                say({"jsonrpc": "2.0", "id": one["id"], "result": result(one)})


def say(message: object) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(message: dict) -> dict:
    """Return what a request comes to."""
    match message["method"]:
        case "initialize":
            return {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "fake", "version": "1"}}  # fmt: skip
        case "tools/list":
            tools = ("echo", "env", "delete")
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
        case "tools/call":
            text = tool(message["params"]["name"], message["params"].get("arguments") or {})
            return {"content": [{"type": "text", "text": text}], "isError": False}
        case _:
            return {}


def tool(name: str, arguments: dict) -> str:
    """Do what a tool does and return its text."""
    match name:
        case "env":
            return json.dumps(dict(os.environ))
        case "leak":
            value = os.environ[arguments["name"]]
            escapes = "".join(f"\\u{ord(char):04x}" for char in value)
            forms = {
                "plain": value,
                "base64": base64.b64encode(value.encode()).decode(),
                "escaped": f'{{"v":"{escapes}"}}',
            }
            return forms[arguments.get("form", "plain")]
        case "exit":
            sys.stderr.write(str(arguments.get("words", "")))
            sys.stderr.flush()
            os._exit(int(arguments.get("code", 3)))
        case "junk":
            print("Server started on stdio", flush=True)
        case "long":
            sys.stdout.write("x" * int(arguments["size"]))
            sys.stdout.flush()
        case "orphan":
            child = subprocess.Popen(["setsid", "sleep", "1000"], stdout=subprocess.DEVNULL)
            return str(child.pid)
        case "hang":
            import time

            time.sleep(1000)
        case _:
            return json.dumps(arguments)
    return ""


main()
