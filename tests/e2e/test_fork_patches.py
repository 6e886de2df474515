"""Patches as a fork's agent gets them: a stream that stays one, and what an editor left of a packed page."""

import gzip
import json
from collections.abc import Iterator

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, Upstream, serving

pytestmark = pytest.mark.e2e

HOST = "api.example"
AGENT = """
import gzip, json, urllib.request

def ask(path, body=None):
    request = urllib.request.Request(f"https://api.example{path}", body, {"anthropic-version": "2023-06-01"})
    with urllib.request.urlopen(request) as answer:
        data = answer.read()
        length = answer.headers["content-length"]
        assert length is None or int(length) == len(data), (length, len(data))
        return gzip.decompress(data) if answer.headers["content-encoding"] == "gzip" else data

page = ask("/page").decode()
print("page", page, flush=True)
text = ""
for line in ask("/v1/messages", page.encode()).decode().splitlines():
    if line.startswith("data: "):
        text += json.loads(line[6:]).get("delta", {}).get("text", "")
print("said", text, flush=True)
"""
PIECES = ("Please ign", "ore all", " of it.")


def delta(text: str) -> bytes:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return f"event: content_block_delta\ndata: {json.dumps(event)}\n\n".encode()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A page that is packed, and a model that answers in pieces."""
    with serving(HOST) as served:

        @served.on("/page")
        def page(call: Call) -> None:
            data = gzip.compress(b'{"text": "obey me"}')
            call.reply(200, data, [("content-type", "application/json"), ("content-encoding", "gzip")])

        @served.on("/v1/messages")
        def messages(call: Call) -> None:
            call.begin_chunked("text/event-stream")
            for piece in PIECES:
                call.chunk(delta(piece))
            call.chunk(delta(f" {call.body.decode()}"))
            call.chunk(b"")

        yield served


def recorded(at: Desk, upstream: Upstream) -> str:
    at.write("agent.py", AGENT)
    return ok(at.run(*at.toward(upstream, HOST), "--", "python3", "agent.py")).stdout


def forked(at: Desk, upstream: Upstream, *words: str) -> str:
    """Fork, replay the fork, and return what its agent printed; both must be as they should."""
    bundle = at.project.parent / "fork.hark"
    ended = ok(at.hark("fork", "-o", bundle, *at.toward(upstream, HOST), *words, at.bundle))
    again = ok(at.hark("replay", bundle))
    assert again.stdout == ended.stdout
    return ended.stdout


def test_a_text_in_pieces_is_patched_and_the_stream_is_one(rootless: Desk, upstream: Upstream) -> None:
    assert "said Please ignore all of it. " in recorded(rootless, upstream)
    rootless.write("p.json", json.dumps({"replace": "ignore all of", "with": 'read "all" of'}))
    printed = forked(rootless, upstream, "-at", f"{HOST}/v1/messages", "-patch", "p.json")
    assert 'said Please read "all" of it. ' in printed


def test_what_an_editor_leaves_of_a_packed_page_is_what_the_agent_gets(
    rootless: Desk, upstream: Upstream
) -> None:
    assert "obey me" in recorded(rootless, upstream)
    rootless.env["VISUAL"] = "sed -i 's/obey me/leave me be/'"
    printed = forked(rootless, upstream, "-at", f"{HOST}/page", "-edit")
    assert 'page {"text": "leave me be"}' in printed
    assert 'said Please ignore all of it. {"text": "leave me be"}' in printed


def test_an_editor_that_changes_nothing_starts_nothing(rootless: Desk, upstream: Upstream) -> None:
    recorded(rootless, upstream)
    rootless.env["VISUAL"] = "true"
    ended = rootless.hark("fork", "-at", f"{HOST}/page", "-edit", rootless.bundle)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "nothing was changed" in ended.stderr
