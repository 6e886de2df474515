"""Real clients in a test's own process: recorded through the bundle, played without a server, and failed.

Each is a test of its own in a project that pytest runs as its user would; packages are those of `.clients`.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.kit import FETCHED
from tests.clients.models import ANTHROPIC_KEY, OPENAI_KEY
from tests.fakes import models
from tests.fakes.upstream import serving

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

HOSTS = ("api.openai.com", "api.anthropic.com", "data.example")
TESTS = """
import asyncio, http.client, json, sys
import pytest

sys.path.append({packages!r})
PROMPT = "hi"
SAYS = "I am a stub"
MESSAGES = [{{"role": "user", "content": PROMPT}}]
HELLO = "https://data.example/hello"


@pytest.mark.hark
def test_openai():
    import openai
    client = openai.OpenAI()
    assert client.chat.completions.create(model="stub", messages=MESSAGES).choices[0].message.content == SAYS
    chunks = client.chat.completions.create(model="stub", messages=MESSAGES, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == SAYS


@pytest.mark.hark
def test_openai_async():
    import openai
    async def main():
        async with openai.AsyncOpenAI() as client:
            ask = [[{{"role": "user", "content": f"{{PROMPT}} {{n}}"}}] for n in range(4)]
            answers = await asyncio.gather(
                *(client.chat.completions.create(model="stub", messages=one) for one in ask)
            )
            assert [answer.choices[0].message.content for answer in answers] == [SAYS] * 4
    asyncio.run(main())


@pytest.mark.hark
def test_anthropic():
    import anthropic
    ask = {{"model": "stub", "max_tokens": 10, "messages": MESSAGES}}
    client = anthropic.Anthropic()
    assert client.messages.create(**ask).content[0].text == SAYS
    with client.messages.stream(**ask) as stream:
        assert "".join(stream.text_stream) == SAYS


@pytest.mark.hark
def test_anthropic_async():
    import anthropic
    async def main():
        async with anthropic.AsyncAnthropic() as client:
            answer = await client.messages.create(model="stub", max_tokens=10, messages=MESSAGES)
            assert answer.content[0].text == SAYS
    asyncio.run(main())


@pytest.mark.hark
def test_httpx():
    import httpx
    assert httpx.get(HELLO).text == "hello"
    async def main():
        async with httpx.AsyncClient() as client:
            assert (await client.get(HELLO)).text == "hello"
    asyncio.run(main())


@pytest.mark.hark
def test_requests():
    import requests, urllib3
    with requests.Session() as session:
        assert [session.get(HELLO).text for _ in range(2)] == ["hello", "hello"]
    assert urllib3.PoolManager().request("GET", HELLO).data == b"hello"


@pytest.mark.hark
def test_aiohttp():
    import aiohttp
    async def main():
        async with aiohttp.ClientSession() as session, session.get(HELLO) as answer:
            assert await answer.text() == "hello"
    asyncio.run(main())


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def client():
    import httpx
    async with httpx.AsyncClient() as made:
        yield made


@pytest.mark.anyio
@pytest.mark.hark
async def test_anyio(client):
    assert (await client.get(HELLO)).text == "hello"


@pytest.mark.hark
def test_http_client():
    connection = http.client.HTTPSConnection("data.example")
    connection.request("GET", "/hello")
    assert connection.getresponse().read() == b"hello"
"""
NAMES = (
    "openai",
    "openai_async",
    "anthropic",
    "anthropic_async",
    "httpx",
    "requests",
    "aiohttp",
    "anyio",
    "http_client",
)
POLICY = """
[secrets.OPENAI_API_KEY]
hosts = ["api.openai.com"]
[secrets.ANTHROPIC_API_KEY]
hosts = ["api.anthropic.com"]
"""


@dataclass
class Project:
    """A folder with tests, and pytest run in it."""

    folder: Path
    env: dict[str, str]

    def pytest(self, *words: str, **env: str) -> tuple[int, str]:
        """Run pytest, with nothing but `env` beside what the project has."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hark-way=process", *words],
            cwd=self.folder,
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def write(self, old: str = "", new: str = "") -> None:
        """Write the tests, with one thing changed."""
        (self.folder / "test_sdk.py").write_text(
            TESTS.format(packages=str(FETCHED / "py")).replace(old, new, 1)
            if old
            else TESTS.format(packages=str(FETCHED / "py"))
        )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project, recorded; its servers are gone."""
    if not (FETCHED / "py").is_dir():
        pytest.fail("the clients are not fetched: make .clients/.done")
    folder = tmp_path_factory.mktemp("project")
    base = {
        name: os.environ[name] for name in ("PATH", "LANG", "PYTHONDONTWRITEBYTECODE") if name in os.environ
    }
    project = Project(folder, base | {"HOME": str(tmp_path_factory.mktemp("home"))})
    project.write()
    (folder / "pytest.ini").write_text("[pytest]\nhark_policy = policy.toml\n")
    with serving(*HOSTS) as server:
        models.openai(server)
        models.anthropic(server)
        server.on("/hello")(lambda call: call.reply(200, b"hello"))
        allow = "".join(f'[[allow]]\nhost = "{host}"\nupstream = "{server.address}"\n' for host in HOSTS)
        (folder / "policy.toml").write_text(allow + POLICY)
        (folder / "ca.pem").write_bytes(server.ca_pem)
        keys = {"OPENAI_API_KEY": OPENAI_KEY, "ANTHROPIC_API_KEY": ANTHROPIC_KEY}
        code, said = project.pytest("--hark-record=once", SSL_CERT_FILE=str(folder / "ca.pem"), **keys)
        assert (code, f"hark: {len(NAMES)} recorded, in pytest's own process" in said) == (0, True), said
        assert any(OPENAI_KEY in str(call) for call in server.seen), (
            "the control: the servers were sent the key"
        )
    return project


def test_every_client_is_played_back_without_server_key_or_authority(recorded: Project) -> None:
    recorded.write()
    code, said = recorded.pytest("-n2")
    assert (code, f"hark: {len(NAMES)} replayed, in pytest's own process" in said) == (0, True), said
    for bundle in recorded.folder.rglob("*.hark"):
        assert OPENAI_KEY.encode() not in bundle.read_bytes()
        assert ANTHROPIC_KEY.encode() not in bundle.read_bytes()


def test_one_byte_of_the_prompt_fails_the_sdks_that_send_it(recorded: Project) -> None:
    recorded.write('PROMPT = "hi"', 'PROMPT = "ho"')
    code, said = recorded.pytest("-n2", "-k", "openai or anthropic")
    assert (code, "4 failed" in said) == (1, True), said
    assert said.count("differs at byte 1") >= 4, said
