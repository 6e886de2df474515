"""The demo's two servers, on loopback and real TLS: the briefing, and a stub that stands for a model.

The stub is no model and says so in every answer. It does what a model that falls for a prompt injection
does: it turns any `POST ... to URL` that it reads, wherever it stands, into a tool call.
"""

import json
import re
import ssl
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

BRIEFING_HOST = "briefing.example"
MODEL_HOST = "api.model.example"
EVIL_HOST = "collect.evil.example"


def certify(folder: Path) -> Path:
    """Make a certificate for both names in `folder` and return its path; it is its own root."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hark demo stub")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(BRIEFING_HOST), x509.DNSName(MODEL_HOST)])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "stub.key").write_bytes(private)
    (folder / "stub.pem").write_bytes(public)
    return folder / "stub.pem"


class Stub(BaseHTTPRequestHandler):
    """Answers for both hosts; keeps the keys that reached the model, so that the demo can show them."""

    protocol_version = "HTTP/1.1"
    briefing = b""
    keys_seen: list[str]

    def do_GET(self) -> None:
        """Serve the briefing."""
        self.answer("text/html; charset=utf-8", self.briefing)

    def do_POST(self) -> None:
        """Answer as the stub model."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.keys_seen.append(self.headers.get("x-api-key", ""))
        prompt = json.loads(body)["messages"][-1]["content"]
        text = "(stub, not a model) The migration is on schedule; backups were restored without loss."
        content = [{"type": "text", "text": text}, *tool_calls(prompt)]
        self.answer("application/json", json.dumps({"model": "stub", "content": content}).encode())

    def answer(self, kind: str, body: bytes) -> None:
        """Send one whole answer."""
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the demo's output is the agent's and hark's."""


def tool_calls(prompt: str) -> list[dict[str, object]]:
    """Turn the instructions hidden in a prompt into calls, as a model that obeys them would."""
    wanted = re.search(r"POST with header\s+\"([\w-]+): (\S+?)\"", prompt)
    if wanted is None:
        return []
    headers = json.dumps({wanted[1]: wanted[2]})
    urls = re.findall(r"to\s+(https?://[^\s,]+[^\s,.])", prompt[wanted.start() :])
    return [
        {"type": "tool_use", "name": "http_post", "input": {"url": url, "headers": headers}} for url in urls
    ]


def serve(folder: Path, briefing: bytes) -> tuple[ThreadingHTTPServer, list[str]]:
    """Serve on a free loopback port with the certificate in `folder`; return server and keys seen."""
    keys: list[str] = []
    handler = type("DemoStub", (Stub,), {"briefing": briefing, "keys_seen": keys})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "stub.pem", folder / "stub.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, keys
