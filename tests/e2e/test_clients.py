"""Real clients inside `hark run`, against real TLS servers: each does its work and the bundle verifies."""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, Seen, Upstream, serving

pytestmark = pytest.mark.e2e

KEY = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"


class Everything(dict[str, Callable[[Call], None]]):
    """Routes that send every path to one function."""

    def __init__(self, answer: Callable[[Call], None]) -> None:
        super().__init__()
        self.answer = answer

    def get(self, _key: str, _default: object = None) -> Callable[[Call], None]:  # type: ignore[override]
        return self.answer


@pytest.fixture
def server() -> Iterator[Upstream]:
    with serving("api.example", "git.example", "index.example", "api.anthropic.com") as upstream:
        yield upstream


def bundle_has(at: Desk, text: str) -> bool:
    return text.encode() in at.bundle.read_bytes()


def test_curl_fetches_over_tls(at: Desk, server: Upstream):
    server.on("/hello")(lambda call: call.reply(200, b"hello from the real server"))
    ended = ok(at.run(*at.toward(server, "api.example"), "--", "curl", "-sS", "https://api.example/hello"))
    assert ended.stdout == "hello from the real server"
    assert "VERIFIED" in at.verdict()
    (request,) = at.events("LlmRequest")
    assert (request["host"], request["method"], request["path"]) == ("api.example", "GET", "/hello")
    assert bundle_has(at, "hello from the real server")


def test_curl_is_told_what_would_allow_it(at: Desk, server: Upstream):
    ended = at.run(*at.toward(server, "api.example"), "--", "curl", "-sS", "https://other.example/")
    assert ended.returncode == 6  # curl: could not resolve host
    assert 'allow_hosts = ["other.example"]' in ended.stderr
    assert server.seen == []


def git_backend(project_root: Path) -> Callable[[Call], None]:
    """Serve repositories with git's own CGI program."""
    program = subprocess.run(
        ["git", "--exec-path"], check=True, capture_output=True, text=True
    ).stdout.strip()

    def answer(call: Call) -> None:
        path, _, query = call.path.partition("?")
        env = os.environ | {
            "GIT_PROJECT_ROOT": str(project_root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": call.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": call.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": call.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": call.headers.get("Git-Protocol", ""),
            "CONTENT_LENGTH": str(len(call.body)),
        }
        cgi = subprocess.run(
            [f"{program}/git-http-backend"], input=call.body, env=env, capture_output=True, check=False
        )
        head, _, body = cgi.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(value[:3]) for name, value in headers if name == "Status"), 200)
        call.reply(status, body, [(n, v) for n, v in headers if n not in ("Status", "Content-Length")])

    return answer


def test_git_clones_over_https(at: Desk, server: Upstream, tmp_path: Path):
    source = tmp_path / "source"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main", source], check=True)
    (source / "data.bin").write_bytes(os.urandom(300_000))
    subprocess.run([*git, "-C", source, "add", "."], check=True)
    subprocess.run([*git, "-C", source, "commit", "-qm", "first"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", source, tmp_path / "repo.git"], check=True)
    server.routes = Everything(git_backend(tmp_path))
    ok(at.run(*at.toward(server, "git.example"), "--", "git", "clone", "-q", "https://git.example/repo.git"))
    assert (at.project / "repo" / "data.bin").read_bytes() == (source / "data.bin").read_bytes()
    assert (at.project / "repo").stat().st_uid == at.user.uid
    assert "VERIFIED" in at.verdict()


def a_wheel() -> bytes:
    files = {
        "tinything/__init__.py": "VALUE = 7\n",
        "tinything-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n",
        "tinything-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
        f"{len(text)}\n"
        for name, text in files.items()
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("tinything-1.0.dist-info/RECORD", f"{record}tinything-1.0.dist-info/RECORD,,\n")
    return buffer.getvalue()


def test_pip_downloads_a_package(at: Desk, server: Upstream):
    name = "tinything-1.0-py3-none-any.whl"
    wheel = a_wheel()
    digest = hashlib.sha256(wheel).hexdigest()
    page = f'<!DOCTYPE html><a href="/files/{name}#sha256={digest}">{name}</a>'.encode()
    server.on("/simple/tinything/")(lambda call: call.reply(200, page, [("Content-Type", "text/html")]))
    server.on(f"/files/{name}")(lambda call: call.reply(200, wheel))
    find = (
        "import ensurepip as e, pathlib; print(*pathlib.Path(e.__file__).parent.glob('_bundled/pip-*.whl'))"
    )
    pip = subprocess.run(
        [at.user.python, "-c", find], check=True, capture_output=True, text=True
    ).stdout.strip()
    index = "https://index.example/simple/"
    download = [
        "download",
        "-q",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--index-url",
        index,
        "tinything",
    ]
    ok(at.run(*at.toward(server, "index.example"), "--", at.user.python, f"{pip}/pip", *download))
    assert (at.project / name).read_bytes() == wheel
    assert "VERIFIED" in at.verdict()


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "stub",
    "content": [{"type": "text", "text": "hello, I am a stub"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 5},
}

STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": MESSAGE | {"content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "streamed "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "words"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]

AGENT = """
import os, anthropic
client = anthropic.Anthropic(max_retries=0)
ask = dict(model="stub", max_tokens=10, messages=[{"role": "user", "content": "hi"}])
print(client.messages.create(**ask).content[0].text)
with client.messages.stream(**ask) as stream:
    print("".join(stream.text_stream))
print("held:", os.environ["ANTHROPIC_API_KEY"])
"""


def answer_message(call: Call) -> None:
    if not json.loads(call.body).get("stream"):
        call.reply(200, json.dumps(MESSAGE).encode(), [("Content-Type", "application/json")])
        return
    call.begin_chunked("text/event-stream")
    for event in STREAM:
        call.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    call.chunk(b"")


def sent_key(request: Seen) -> str:
    """The key of one request, in whichever header this version of the SDK puts it."""
    return request.header("x-api-key") or (request.header("authorization") or "").removeprefix("Bearer ")


def test_the_anthropic_sdk_talks_to_its_host_with_a_key_it_never_holds(at: Desk, server: Upstream):
    server.on("/v1/messages")(answer_message)
    at.env["REAL_KEY"] = KEY
    at.write("agent.py", AGENT)
    policy = '[secrets.ANTHROPIC_API_KEY]\nenv = "REAL_KEY"\n'
    options = at.toward(server, "api.anthropic.com", policy=policy)
    ended = ok(at.run(*options, "--", at.user.python, "agent.py"))
    said, streamed, held = ended.stdout.splitlines()
    assert (said, streamed) == ("hello, I am a stub", "streamed words")
    assert held.startswith("held: sk-ant-api03-hark")
    assert [sent_key(request) for request in server.seen] == [KEY, KEY]
    assert "VERIFIED" in at.verdict()
    assert not bundle_has(at, KEY)
    assert KEY not in ended.stderr
    assert len(at.events("SecretInjected")) == 2
    assert len(at.events("LlmResponseChunk")) >= 1 + len(STREAM) // 2


def test_node_trusts_the_run_and_fetches(at: Desk, server: Upstream):
    node = shutil.which("node", path="/usr/local/bin:/usr/bin")
    if node is None:
        pytest.skip("node is not installed on this machine")
    server.on("/n")(lambda call: call.reply(200, b"for node"))
    script = "fetch('https://api.example/n').then(r => r.text()).then(t => console.log(t))"
    ended = ok(at.run(*at.toward(server, "api.example"), "--", node, "-e", script))
    assert ended.stdout == "for node\n"
    assert "VERIFIED" in at.verdict()
