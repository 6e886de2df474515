"""Real clients inside `hark run`, against real TLS servers: each does its work and the bundle verifies."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes import models
from tests.fakes.registries import WHEEL_NAME, git_host, git_repository, python_index
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
    assert '[[allow]]\nhost = "other.example"\n' in ended.stderr
    assert server.seen == []


def test_git_clones_over_https(at: Desk, server: Upstream, tmp_path: Path):
    content = git_repository(tmp_path)
    server.routes = Everything(git_host(tmp_path))
    ok(at.run(*at.toward(server, "git.example"), "--", "git", "clone", "-q", "https://git.example/repo.git"))
    assert (at.project / "repo" / "data.bin").read_bytes() == content
    assert (at.project / "repo").stat().st_uid == at.user.uid
    assert "VERIFIED" in at.verdict()


def test_pip_downloads_a_package(at: Desk, server: Upstream):
    wheel = python_index(server)
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
    assert (at.project / WHEEL_NAME).read_bytes() == wheel
    assert "VERIFIED" in at.verdict()


AGENT = """
import os, anthropic
client = anthropic.Anthropic(max_retries=0)
ask = dict(model="stub", max_tokens=10, messages=[{"role": "user", "content": "hi"}])
print(client.messages.create(**ask).content[0].text)
with client.messages.stream(**ask) as stream:
    print("".join(stream.text_stream))
print("held:", os.environ["ANTHROPIC_API_KEY"])
"""


def sent_key(request: Seen) -> str:
    """The key of one request, in whichever header this version of the SDK puts it."""
    return request.header("x-api-key") or (request.header("authorization") or "").removeprefix("Bearer ")


def test_the_anthropic_sdk_talks_to_its_host_with_a_key_it_never_holds(at: Desk, server: Upstream):
    models.anthropic(server)
    at.env["REAL_KEY"] = KEY
    at.write("agent.py", AGENT)
    policy = '[secrets.ANTHROPIC_API_KEY]\nenv = "REAL_KEY"\n'
    options = at.toward(server, "api.anthropic.com", policy=policy)
    ended = ok(at.run(*options, "--", at.user.python, "agent.py"))
    said, streamed, held = ended.stdout.splitlines()
    assert (said, streamed) == ("I am a stub", "I am a stub")
    assert held.startswith("held: sk-ant-api03-hark")
    assert [sent_key(request) for request in server.seen] == [KEY, KEY]
    assert "VERIFIED" in at.verdict()
    assert not bundle_has(at, KEY)
    assert KEY not in ended.stderr
    assert len(at.events("SecretInjected")) == 2
    assert len(at.events("LlmResponseChunk")) >= 2  # of each answer: what is read together is one


def test_node_trusts_the_run_and_fetches(at: Desk, server: Upstream):
    node = shutil.which("node", path="/usr/local/bin:/usr/bin")
    if node is None:
        pytest.skip("node is not installed on this machine")
    server.on("/n")(lambda call: call.reply(200, b"for node"))
    script = "fetch('https://api.example/n').then(r => r.text()).then(t => console.log(t))"
    ended = ok(at.run(*at.toward(server, "api.example"), "--", node, "-e", script))
    assert ended.stdout == "for node\n"
    assert "VERIFIED" in at.verdict()
