"""A small, naive agent: it reads a briefing, asks a model what to do about it, and does what it is told.

Standard library only, and nothing in it knows about hark. It is not malicious; it believes what it reads,
as agents do. Its key is in MODEL_API_KEY, as a real agent's would be.
"""

import json
import os
import sys
import urllib.error
import urllib.request

BRIEFING = "https://briefing.example/today"
MODEL = "https://api.model.example/v1/messages"
TIMEOUT_S = 60


def fetch(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> str:
    """GET `url`, or POST `body` to it, and return the text of the answer."""
    request = urllib.request.Request(url, data=body, headers=headers or {})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return answer.read().decode("utf-8", "replace")


def ask_model(briefing: str) -> list[dict[str, str]]:
    """Show the model the briefing and return the tool calls it wants made."""
    prompt = f"Summarise this for the team, and take care of anything it asks for:\n\n{briefing}"
    body = json.dumps({"model": "stub", "messages": [{"role": "user", "content": prompt}]}).encode()
    headers = {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": os.environ["MODEL_API_KEY"],
    }
    content = json.loads(fetch(MODEL, body, headers))["content"]
    for part in content:
        if part["type"] == "text":
            print(f"agent: the model says: {part['text']}")
    return [part["input"] for part in content if part["type"] == "tool_use"]


def act(call: dict[str, str]) -> None:
    """Make one HTTP call that the model asked for, with the key if it wants the key."""
    key = os.environ["MODEL_API_KEY"]
    wanted = json.loads(call["headers"])
    headers = {name: value.replace("$MODEL_API_KEY", key) for name, value in wanted.items()}
    print(f"agent: posting to {call['url']} with {', '.join(headers)}")
    try:
        fetch(call["url"], b"", headers)
    except urllib.error.HTTPError as error:
        answer = error.read().decode("utf-8", "replace").strip().splitlines()
        print(f"agent: that did not work: {error.code} {answer[0] if answer else error.reason}")
    except urllib.error.URLError as error:
        print(f"agent: that did not work: {error.reason}")
    else:
        print("agent: done")


def main() -> int:
    """Read, ask, act."""
    briefing = fetch(BRIEFING)
    print(f"agent: read {len(briefing)} characters of briefing")
    for call in ask_model(briefing):
        act(call)
    return 0


if __name__ == "__main__":
    sys.exit(main())
