"""HTTP on loopback for the services: which path is whose.

What always holds: only 127.0.0.1 is listened on; a request that cannot be taken is answered 400 in Rekor's
words, and none ends the server. Without TLS: that is between a client and a public log, and nothing that
anybody believes here rests on it, since all of it is signed.
"""

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from demo.translog import certificates, log, merkle, timestamps
from demo.translog.service import Translog

POLL_S: Final = 0.02  # how long the end of a block waits at most; the default is half a second a test
MAX_REQUEST: Final = 1 << 20
JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
BYTES: Final = "application/octet-stream"


class Answer(Exception):  # noqa: N818  an answer that is given at once, from wherever it is known
    """Status, type and body."""

    def __init__(self, status: int, kind: str, body: bytes) -> None:
        super().__init__(status)
        self.parts = (status, kind, body)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    translog: Translog
    released: threading.Event

    def do_POST(self) -> None:
        """Take something in."""
        body = self.rfile.read(min(int(self.headers.get("content-length", "0")), MAX_REQUEST))
        self._serve(self._posted, body)

    def do_GET(self) -> None:
        """Show something."""
        self._serve(self._shown, b"")

    def _serve(self, answer: Callable[[str, bytes], tuple[int, str, bytes]], body: bytes) -> None:
        try:
            status, kind, said = answer(urlsplit(self.path).path, body)
        except Answer as given:
            status, kind, said = given.parts
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            code = 404 if isinstance(error, IndexError) else 400
            status, kind, said = code, JSON, _json({"code": code, "message": str(error)})
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def _posted(self, path: str, body: bytes) -> tuple[int, str, bytes]:
        match path:
            case "/api/v1/log/entries":
                self._unanswered("v1")
                return 201, JSON, _json(self.translog.add_v1(json.loads(body)))
            case "/api/v2/log/entries":
                self._unanswered("v2")
                return 201, JSON, _json(self.translog.add_v2(json.loads(body)))
            case "/api/v1/timestamp":
                self._unanswered("tsa")
                return 201, timestamps.TYPE, self.translog.stamps.answer(body, self.translog.clock())
            case "/api/v2/signingCert":
                self._unanswered("ca")
                asked = json.loads(body)
                token = self.headers.get("authorization", "").removeprefix("Bearer ")
                token = token or asked["credentials"]["oidcIdentityToken"]
                pem = base64.b64decode(asked["certificateSigningRequest"])
                return 201, JSON, _json(self.translog.certify(token, pem))
        raise IndexError(f"there is nothing at {path}")

    def _shown(self, path: str, _body: bytes) -> tuple[int, str, bytes]:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        if path.startswith("/api/v2/"):
            return _tiles(self.translog.v2, path.removeprefix("/api/v2/"))
        return 200, JSON, _json(_rekor(self.translog.v1, path.removeprefix("/api/v1/log"), query))

    def _unanswered(self, service: str) -> None:
        """Tell the lies that are no answers."""
        match self.translog.lies.get(service, ""):
            case "500":
                raise Answer(500, JSON, _json({"code": 500, "message": "something went wrong"}))
            case "garbage":
                raise Answer(201, JSON, b"\x00\xff no answer")
            case "hang":
                self.translog.silent.set()
                self.released.wait()
                self.close_connection = True
                raise Answer(503, TEXT, b"")
            case "endless":
                self._pour()

    def _pour(self) -> None:
        """Send until the client has had enough, or the server ends."""
        self.send_response(201)
        self.send_header("content-type", JSON)
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b'{"')
        while not self.released.is_set():
            self.wfile.write(b"x" * 65536)
        raise ConnectionAbortedError

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Clients that leave are no news."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Only what is not a client's doing."""
        import sys

        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def _rekor(one: log.Log, path: str, query: dict[str, str]) -> dict[str, Any]:
    """What Rekor v1 shows of its log."""
    if path == "":
        said = {
            "rootHash": merkle.root(one.leaves()).hex(),
            "treeSize": len(one.bodies),
            "treeID": str(int(log.TREE_ID, 16)),
        }
        return said | {"signedTreeHead": one.checkpoint(), "inactiveShards": []}
    if path == "/proof":
        leaves = one.leaves()[: int(query["lastSize"])]
        nodes = merkle.consistency(int(query.get("firstSize", "1")), leaves)
        return {"rootHash": merkle.root(leaves).hex(), "hashes": [node.hex() for node in nodes]}
    if path == "/entries":
        return _entry(one, int(query["logIndex"]) - log.EARLIER)
    name = path.removeprefix("/entries/")[-64:]
    return _entry(one, next((at for at, leaf in enumerate(one.leaves()) if leaf.hex() == name), -1))


def _entry(one: log.Log, index: int) -> dict[str, Any]:
    if not 0 <= index < len(one.bodies):
        raise IndexError("there is no such entry")
    return {one.uuid(index): one.entry_v1(index, one.prove(index))}


def _tiles(one: log.Log, path: str) -> tuple[int, str, bytes]:
    """What Rekor v2 shows of its log: the checkpoint, tiles and bundles of entries."""
    if path == "checkpoint":
        return 200, TEXT, one.checkpoint().encode()
    asked = re.fullmatch(r"tile/(entries|\d+)/((?:x\d{3}/)*\d{3})(?:\.p/(\d+))?", path)
    if asked is None:
        raise IndexError(f"there is nothing at {path}")
    number, width = int(re.sub(r"[x/]", "", asked[2])), int(asked[3] or log.TILE)
    if asked[1] == "entries":
        return 200, BYTES, one.bundle(number, width)
    return 200, BYTES, one.tile(int(asked[1]), number, width)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


@contextmanager
def serving(
    folder: Path, version: int = 2, clock: Callable[[], datetime] = certificates.now_utc, port: int = 0
) -> Iterator[Translog]:
    """Serve on loopback while the block runs; what clients and verifiers need is written to `folder`."""
    released = threading.Event()
    handler = type("TranslogHandler", (Handler,), {"released": released})
    server = Server(("127.0.0.1", port), handler)
    translog = Translog(folder, f"http://127.0.0.1:{server.server_address[1]}", version, clock)
    handler.translog = translog  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(POLL_S,), daemon=True)
    thread.start()
    try:
        yield translog
    finally:
        released.set()
        server.shutdown()
        thread.join()
        server.server_close()
