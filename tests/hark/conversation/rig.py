"""Exchanges as values, for tests of what their bodies mean."""

import json
from typing import Any

from hark.bundle import events as ev
from hark.conversation.exchanges import Heard, exchanges
from hark.conversation.model import ModelCall, model_call
from hark.replay.recorded import Frame

PATHS = {
    "anthropic": "/v1/messages?beta=true",
    "openai.chat": "/v1/chat/completions",
    "openai.responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
}


def frames(*events: Any) -> list[Frame]:
    """Events one microsecond apart."""
    return [Frame(seq, seq * 1000, event) for seq, event in enumerate(events)]


def heard(path: str, asked: Any, answered: Any = b"", kind: str = "application/json") -> Heard:
    """A POST and its answer, values as JSON."""
    body, answer = (
        value if isinstance(value, bytes) else json.dumps(value).encode() for value in (asked, answered)
    )
    (one,) = exchanges(
        frames(
            ev.LlmRequest(host="api.example", method="POST", path=path, body=body, exchange=1),
            ev.LlmResponseChunk(data=answer, exchange=1),
            ev.LlmResponseEnd(status=200, exchange=1, raw_headers=((b"Content-Type", kind.encode()),)),
        )
    )
    return one


def call(provider: str, asked: Any, answered: Any = b"", kind: str = "application/json") -> ModelCall:
    """The call that it is."""
    found = model_call(heard(PATHS[provider], asked, answered, kind))
    assert found is not None
    assert found.provider == provider
    return found


def stream(events: Any, end: str = "\n") -> bytes:
    """Events as a server sends them, named where they have a type."""
    lines = []
    for event in events:
        named = f"event: {ascii(event['type'])[1:-1]}{end}" if "type" in event else ""
        lines.append(f"{named}data: {json.dumps(event)}{end}{end}")
    return "".join(lines).encode()


SSE = "text/event-stream; charset=utf-8"
