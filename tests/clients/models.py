"""SDKs of model providers and coding agents: each gets `I am a stub` with a key that it never holds."""

from collections.abc import Callable
from typing import Final

from tests.clients.kit import Client, Kit

ANTHROPIC_KEY: Final = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"
OPENAI_KEY: Final = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
GEMINI_KEY: Final = "AIzaSy0123456789abcdefghijklmnopqrstuvw"
SAYS: Final = "I am a stub"

ANTHROPIC: Final = """
import anthropic
client = anthropic.Anthropic(max_retries=0)
ask = dict(model="stub", max_tokens=10, messages=[{"role": "user", "content": "hi"}])
whole = client.messages.create(**ask).content[0].text
with client.messages.stream(**ask) as stream:
    assert "".join(stream.text_stream) == whole
print(whole)
"""
OPENAI: Final = """
import openai
client = openai.OpenAI(max_retries=0)
ask = dict(model="stub", messages=[{"role": "user", "content": "hi"}])
whole = client.chat.completions.create(**ask).choices[0].message.content
chunks = client.chat.completions.create(stream=True, **ask)
assert "".join(chunk.choices[0].delta.content for chunk in chunks) == whole
assert client.responses.create(model="stub", input="hi").output_text == whole
print(whole)
"""
GEMINI: Final = """
from google import genai
client = genai.Client()
whole = client.models.generate_content(model="stub", contents="hi").text
stream = client.models.generate_content_stream(model="stub", contents="hi")
assert "".join(chunk.text for chunk in stream) == whole
print(whole)
"""
LANGGRAPH: Final = """
from typing import TypedDict
import openai
from langgraph.graph import END, START, StateGraph

class State(TypedDict):
    text: str

def ask(state):
    client = openai.OpenAI(max_retries=0)
    messages = [{"role": "user", "content": state["text"]}]
    answer = client.chat.completions.create(model="stub", messages=messages)
    return {"text": answer.choices[0].message.content}

graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END).compile()
print(graph.invoke({"text": "hi"})["text"])
"""

MCP: Final = """
import asyncio
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

async def main():
    place = streamable_http_client("https://tools.example/mcp")
    async with place as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        answer = await session.call_tool("echo", {"text": "hi"})
        print(answer.content[0].text)

asyncio.run(main())
"""


def _keyed(variable: str, host: str) -> str:
    return f'[secrets.{variable}]\nenv = "REAL_KEY"\nhosts = ["{host}"]\n'


def _sdk(name: str, package: str, variable: str, key: str, host: str, code: str) -> Client:
    version = f"import importlib.metadata as m; print(m.version('{package}'))"
    return Client(
        name=name,
        program=lambda kit: kit.python,
        version=lambda kit: [kit.python, "-c", version],
        task=lambda kit: [kit.python, "task.py"],
        says=SAYS,
        trust="SSL_CERT_FILE",
        hosts=(host,),
        files={"task.py": code},
        policy=_keyed(variable, host),
        caller={"REAL_KEY": key},
    )


def _agent(
    name: str, program: str, variable: str, key: str, host: str, words: tuple[str, ...], **more: str
) -> Client:
    path: Callable[[Kit], str] = lambda kit: kit.npm(program)  # noqa: E731  # used thrice below
    return Client(
        name=name,
        program=path,
        version=lambda kit: [path(kit), "--version"],
        task=lambda kit: [path(kit), *words],
        says=SAYS,
        hosts=(host,),
        policy=_keyed(variable, host),
        caller={"REAL_KEY": key},
        env=more,
    )


CODEX_PROVIDER: Final = (
    'name="key", base_url="https://api.openai.com/v1", env_key="CODEX_KEY", wire_api="responses"'
)
CODEX: Final = (
    "exec",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "-c",
    f"model_providers.key={{{CODEX_PROVIDER}}}",
    "-c",
    'model_provider="key"',
    "say hi",
)

MODELS: Final = (
    _sdk("anthropic", "anthropic", "ANTHROPIC_API_KEY", ANTHROPIC_KEY, "api.anthropic.com", ANTHROPIC),
    _sdk("openai", "openai", "OPENAI_API_KEY", OPENAI_KEY, "api.openai.com", OPENAI),
    _sdk(
        "google-genai",
        "google-genai",
        "GEMINI_API_KEY",
        GEMINI_KEY,
        "generativelanguage.googleapis.com",
        GEMINI,
    ),
    _sdk("LangGraph", "langgraph", "OPENAI_API_KEY", OPENAI_KEY, "api.openai.com", LANGGRAPH),
    Client(
        name="mcp",
        program=lambda kit: kit.python,
        version=lambda kit: [kit.python, "-c", "import importlib.metadata as m; print(m.version('mcp'))"],
        task=lambda kit: [kit.python, "task.py"],
        says=SAYS,
        trust="SSL_CERT_FILE",
        hosts=("tools.example",),
        files={"task.py": MCP},
    ),
    _agent(
        "Claude Code",
        "../@anthropic-ai/claude-code-linux-x64/claude",
        "ANTHROPIC_API_KEY",
        ANTHROPIC_KEY,
        "api.anthropic.com",
        ("-p", "say hi"),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    ),
    _agent("Codex", "codex", "CODEX_KEY", OPENAI_KEY, "api.openai.com", CODEX),
    _agent(
        "Gemini CLI",
        "gemini",
        "GEMINI_API_KEY",
        GEMINI_KEY,
        "generativelanguage.googleapis.com",
        ("--skip-trust", "-m", "gemini-2.5-flash", "-p", "say hi"),
        GEMINI_TELEMETRY_ENABLED="false",
    ),
)
