"""Models that follow a script: each request gets the turn that it is due, in the form of its API."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from fidelity.scripted import ASIDE, Turn, Use, anthropic, completions, gemini, responses
from tests.fakes.upstream import Upstream, serving

SCRIPT = {"left": [Turn("Look.", [Use("run", {"at": 1}), Use("read", {"at": 2})]), Turn("Done.")]}
TOOLS = {"tools": [{"name": "run"}]}


@pytest.fixture
def server() -> Iterator[Upstream]:
    with serving("localhost", tls=False) as upstream:
        yield upstream


def ask(server: Upstream, path: str, **what: object) -> bytes:
    url = f"http://{server.address}{path}"
    with urllib.request.urlopen(url, json.dumps({"model": "stub"} | what).encode(), timeout=60) as answer:
        return answer.read()


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def test_messages_follow_the_script_and_a_retry_gets_the_same_turn(server: Upstream) -> None:
    anthropic(server, SCRIPT, overloaded_at=2)
    first = json.loads(ask(server, "/v1/messages", messages=[user("go left")], **TOOLS))
    assert [part["type"] for part in first["content"]] == ["text", "tool_use", "tool_use"]
    after = [user("go left"), {"role": "assistant", "content": first["content"]}, user("results")]
    with pytest.raises(urllib.error.HTTPError, match="529"):
        ask(server, "/v1/messages", messages=after, **TOOLS)
    again = json.loads(ask(server, "/v1/messages", messages=after, **TOOLS))
    assert (again["content"][0]["text"], again["stop_reason"]) == ("Done.", "end_turn")
    aside = json.loads(ask(server, "/v1/messages", messages=[user("go left")]))
    assert aside["content"][0]["text"] == ASIDE
    streamed = ask(server, "/v1/messages", messages=[user("go left")], stream=True, **TOOLS)
    assert streamed.count(b"input_json_delta") >= 2
    assert streamed.rstrip().endswith(b'{"type": "message_stop"}')


def test_completions_follow_the_script(server: Upstream) -> None:
    completions(server, SCRIPT)
    path = "/v1/chat/completions"
    first = json.loads(ask(server, path, messages=[user("go left")]))["choices"][0]
    assert [call["function"]["name"] for call in first["message"]["tool_calls"]] == ["run", "read"]
    streamed = ask(server, path, messages=[user("go left"), first["message"], user("r")], stream=True)
    chunks = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith(b"data: {")]
    said = "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
    assert said == "Done."


def test_responses_follow_the_script_and_parallel_results_are_one_turn(server: Upstream) -> None:
    responses(server, SCRIPT)
    first = json.loads(ask(server, "/v1/responses", input="go left"))["output"]
    assert [item["type"] for item in first] == ["message", "function_call", "function_call"]
    results = [{"type": "function_call_output", "output": "1"}] * 2
    streamed = ask(server, "/v1/responses", input=[user("go left"), *first, *results], stream=True)
    last = json.loads(streamed.split(b"data: ")[-1])
    assert last["type"] == "response.completed"
    assert last["response"]["output"][0]["content"][0]["text"] == "Done."


def test_gemini_follows_the_script(server: Upstream) -> None:
    server.on("/models/stub:generateContent")(gemini(SCRIPT))
    asked = [{"role": "user", "parts": [{"text": "go left"}]}]
    path = "/models/stub:generateContent"
    parts = json.loads(ask(server, path, contents=asked, **TOOLS))["candidates"][0]["content"]["parts"]
    assert [part.get("functionCall", {}).get("name") for part in parts] == [None, "run", "read"]
    both = [*asked, {"role": "model", "parts": parts}, {"role": "user", "parts": []}]
    last = json.loads(ask(server, path, contents=both, **TOOLS))["candidates"][0]["content"]["parts"]
    assert last == [{"text": "Done."}]
