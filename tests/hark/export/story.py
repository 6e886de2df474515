"""Frames of a run with exchanges in it, for what reads frames."""

from collections.abc import Iterator
from typing import Any

from hark.bundle import events as ev
from hark.bundle.bounds import SEAL
from hark.bundle.frame import Frame
from hark.bundle.hashing import leaf_hash
from tests.support.recordings import recording

MS = 1_000_000
PLACEHOLDER = "sk-hark0123456789abcdefghijklmn"
INJECTED = ev.SecretInjected("MODEL_KEY", PLACEHOLDER, "api.example", bytes(32))
POST = ev.LlmRequest(
    "api.example",
    "POST",
    "/v1/chat?q=a%20b&q=",
    {},
    b'{"prompt": "hi"}',
    exchange=1,
    raw_headers=((b"Host", b"api.example"), (b"Content-Type", b"application/json"), (b"Cookie", b"a=1; b=2")),
)
TLS = ev.EgressAttempt("api.example", 443, "tls", "api.example")
ALLOWED = ev.EgressDecision("api.example", allowed=True, rule="allow_hosts: api.example")
END = ev.LlmResponseEnd(
    200, {}, 2, exchange=1, raw_headers=((b"content-type", b"text/plain"), (b"set-cookie", b"c=3; Path=/"))
)


def chunk(data: bytes, seq: int = 0, exchange: int = 1) -> ev.LlmResponseChunk:
    """A piece of an answer."""
    return ev.LlmResponseChunk(seq, data, exchange=exchange)


def frames(*more: Any, step: int = MS) -> Iterator[Frame]:
    """The frames of a run in which that happens, `step` nanoseconds after each other."""
    for seq, (_, event) in enumerate(recording(*more)):
        yield frame(seq, event, seq * step)


def frame(seq: int, event: Any, time: int = 0) -> Frame:
    """One event as a frame; its chain is not looked at here."""
    kind, payload = ev.kind_of(event), ev.encode(event)
    assert kind != SEAL
    return Frame(kind, seq, time, bytes(32), payload, leaf_hash(seq, kind, payload))
