"""A witness of C2SP's tlog-witness: it cosigns what goes on from the last checkpoint that it cosigned.

    with witness.witnessing(folder, runs=[public_key]) as one:
        one.url    POST /add-checkpoint
        one.vkey   its verifier key

What always holds: for one origin, of two checkpoints that do not go on from one another only one is ever
cosigned; what was cosigned is on the disk before the answer leaves, and outlives the process with the key.
Of logs it takes those that it was told of: `runs` are the keys whose runs it takes, each run a log of its
own, and `logs` the verifier keys of others.
"""

import base64
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from demo.translog import certificates, merkle, notes
from demo.translog.server import Server

RUNS: Final = "hark/run/"
MAX_REQUEST: Final = 1 << 16
MAX_PROOF: Final = 63
SIZE: Final = "text/x.tlog.size"


class Refusal(Exception):  # noqa: N818  an answer, not a fault of ours
    """A status that is not 200, and what is said with it."""

    def __init__(self, status: int, body: str, kind: str = "text/plain") -> None:
        super().__init__(body)
        self.status, self.body, self.kind = status, body, kind


class Asked(NamedTuple):
    """A request for a cosignature."""

    old: int
    proof: list[bytes]
    origin: str
    size: int
    root: bytes
    text: str
    signatures: list[str]


def parse(body: str) -> Asked:
    """Read a request; ValueError if it is none."""
    head, _, note = body.partition("\n\n")
    first, *lines = head.split("\n")
    if not first.startswith("old ") or len(lines) > MAX_PROOF:
        raise ValueError("a request begins with the old size, and has at most 63 hashes")
    text, _, signatures = note.rpartition("\n\n")
    origin, size, root, *more = text.split("\n")
    if more or not origin:
        raise ValueError("a checkpoint has an origin, a size and a root")
    proof = [base64.b64decode(line, validate=True) for line in lines]
    whole = (_decimal(first[4:]), proof, origin, _decimal(size), base64.b64decode(root, validate=True))
    return Asked(*whole, f"{text}\n", signatures.splitlines())


def _decimal(text: str) -> int:
    if str(int(text)) != text or int(text) < 0:
        raise ValueError("a size has no sign and no leading zero")
    return int(text)


class Witness:
    """Key and state, in a folder. Threads may ask at once."""

    def __init__(
        self, folder: Path, name: str, runs: Sequence[bytes], logs: Sequence[str], clock: Callable[[], float]
    ) -> None:
        self.url = ""
        self._key = _kept_key(folder / "witness.key")
        self._state = folder / "witness.json"
        self.name, self._runs, self._logs, self._clock = name, runs, logs, clock
        self._lock = threading.Lock()
        self.vkey = notes.verifier_key(name, notes.COSIGNATURE, notes.raw(self._key))

    def add_checkpoint(self, body: str) -> str:
        """The signature line for a checkpoint that may be cosigned; else a Refusal."""
        try:
            asked = parse(body)
        except ValueError as error:
            raise Refusal(400, str(error)) from None
        self._check_signature(asked)
        if asked.old > asked.size:
            raise Refusal(400, "the old size is larger than the checkpoint's")
        with self._lock:
            return self._advance(asked)

    def _check_signature(self, asked: Asked) -> None:
        known = [key for key in self._keys(asked.origin) if key.partition("+")[0] == asked.origin]
        if not known:
            raise Refusal(404, "this log is not known here")
        if not any(_signed(asked, key) for key in known):
            raise Refusal(403, "no signature of a key that is trusted for this log")

    def _keys(self, origin: str) -> list[str]:
        runs = self._runs if origin.startswith(RUNS) else ()
        return [*self._logs, *(notes.verifier_key(origin, notes.ED25519, key) for key in runs)]

    def _advance(self, asked: Asked) -> str:
        state = json.loads(self._state.read_text()) if self._state.exists() else {}
        size, root = state.get(asked.origin, (0, merkle.root([]).hex()))
        if asked.old != size:
            raise Refusal(409, f"{size}\n", SIZE)
        if asked.size == size and asked.root.hex() != root:
            raise Refusal(409, f"{size}\n", SIZE)
        if not merkle.consistent(asked.old, asked.size, bytes.fromhex(root), asked.root, asked.proof):
            raise Refusal(422, "the checkpoint does not go on from the last one")
        _save(self._state, json.dumps(state | {asked.origin: (asked.size, asked.root.hex())}).encode())
        return notes.cosign(self.name, self._key, asked.text, int(self._clock()))


def _signed(asked: Asked, vkey: str) -> bool:
    name, digits, material = vkey.split("+", 2)
    for line in asked.signatures:
        _, of, encoded = line.split(" ")
        data = base64.b64decode(encoded)
        if (of, data[:4].hex()) != (name, digits):
            continue
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(material)[1:])
            key.verify(data[4:], asked.text.encode())
        except InvalidSignature:
            continue
        return True
    return False


def _kept_key(path: Path) -> Ed25519PrivateKey:
    if not path.exists():
        _save(path, Ed25519PrivateKey.generate().private_bytes_raw())
    return Ed25519PrivateKey.from_private_bytes(path.read_bytes())


def _save(path: Path, data: bytes) -> None:
    """Whole and on the disk, or not at all."""
    draft = path.with_suffix(".new")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    witness: Witness

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(min(int(self.headers.get("content-length", "0")), MAX_REQUEST))
        try:
            status, kind, said = 200, "text/plain; charset=utf-8", self._answer(body.decode())
        except Refusal as refusal:
            status, kind, said = refusal.status, refusal.kind, refusal.body
        except ValueError as error:
            status, kind, said = 400, "text/plain", str(error)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(said.encode())))
        self.end_headers()
        self.wfile.write(said.encode())

    def _answer(self, body: str) -> str:
        if self.path != "/add-checkpoint":
            raise Refusal(404, "there is nothing here")
        return self.witness.add_checkpoint(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def witnessing(
    folder: Path,
    *,
    runs: Sequence[bytes] = (),
    logs: Sequence[str] = (),
    name: str = "witness.example/w1",
    clock: Callable[[], float] = lambda: certificates.now_utc().timestamp(),
    port: int = 0,
) -> Iterator[Witness]:
    """Serve on loopback while the block runs; key and state are in `folder`."""
    one = Witness(folder, name, runs, logs, clock)
    server = Server(("127.0.0.1", port), type("WitnessHandler", (Handler,), {"witness": one}))
    one.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield one
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
