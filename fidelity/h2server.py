"""For shapes over HTTP/2: a server that speaks nothing else, and answers with path and length of body."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h2.events

from fidelity.shape import Served
from tests.e2e.rig import Desk
from tests.fakes.upstream_h2 import Peer, serving_h2

LATER_S = 0.03


@contextmanager
def serve_h2(_desk: Desk) -> Iterator[Served]:
    """Answer each stream when it has ended; of paths below /many/ the lower numbers later."""
    heard: list[Any] = []
    bodies: dict[tuple[int, int], bytes] = {}
    paths: dict[tuple[int, int], str] = {}

    def react(peer: Peer, event: h2.events.Event) -> None:
        key = (id(peer), getattr(event, "stream_id", None) or 0)
        if isinstance(event, h2.events.RequestReceived):
            paths[key] = dict(event.headers or [])[b":path"].decode()
            bodies[key] = b""
        elif isinstance(event, h2.events.DataReceived):
            bodies[key] += event.data or b""
        elif isinstance(event, h2.events.StreamEnded):
            heard.append((paths[key], bodies[key]))
            reply(peer, key[1], paths[key], bodies[key])

    with serving_h2("api.example", react) as upstream:
        yield Served({"api.example": upstream.address}, upstream.ca_pem, heard=heard)


def reply(peer: Peer, stream: int, path: str, body: bytes) -> None:
    """Answer a stream at once, or from another thread in a while."""
    answer = json.dumps({"path": path, "length": len(body)}).encode()

    def later() -> None:
        with peer.lock:
            peer.answer(stream, answer, ("content-type", "application/json"))
            peer.flush()

    if path.startswith("/many/"):
        threading.Timer(LATER_S * (7 - int(path.rpartition("/")[2])), later).start()
    else:
        peer.answer(stream, answer, ("content-type", "application/json"))
