"""A real WebSocket server on loopback, with TLS: echoes, or talks as a realtime model does."""

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.fakes.upstream import certified
from tests.support.carried import Listener

type Talk = Callable[[ServerConnection], None]


@dataclass
class Talker:
    """A running server, and the headers of the handshakes that it saw."""

    address: str
    ca_pem: bytes
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def talking_to(name: str, talk: Talk, *subprotocols: str) -> Iterator[Talker]:
    """Run a server whose certificate is for `name`."""
    ca_pem, context = certified((name,))
    context.set_alpn_protocols(["http/1.1"])
    talker = Talker("", ca_pem)

    def noted(server: ServerConnection) -> None:
        if server.request is not None:
            talker.headers.append(dict(server.request.headers))
        talk(server)

    offered = list(subprotocols) or None
    with serve(noted, sock=Listener(context), max_size=None, subprotocols=offered) as server:  # type: ignore[arg-type]
        talker.address = f"127.0.0.1:{server.socket.getsockname()[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield talker
        server.shutdown()
        thread.join()


def echo(server: ServerConnection) -> None:
    """Say everything back."""
    with contextlib.suppress(ConnectionClosed):
        for message in server:
            server.send(message)


def realtime(server: ServerConnection) -> None:
    """Answer as a model does over a socket: JSON events both ways, audio as base64 in many of them."""
    server.send(json.dumps({"type": "session.created", "session": {"id": "sess_1"}}))
    heard = b""
    for message in server:
        event = json.loads(message)
        if event["type"] == "input_audio_buffer.append":
            heard += base64.b64decode(event["audio"])
        elif event["type"] == "response.create":
            for number in range(20):
                audio = base64.b64encode(bytes([number]) * 4800).decode()
                server.send(json.dumps({"type": "response.output_audio.delta", "delta": audio}))
            server.send(json.dumps({"type": "response.done", "heard": len(heard)}))
