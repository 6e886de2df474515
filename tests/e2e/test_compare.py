"""`hark compare` as a person meets it: one run, several models, one table; what the check says decides."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, Upstream, serving

pytestmark = pytest.mark.e2e

HOST = "api.example"
AGENT = """
import json, pathlib, urllib.request

def ask(words):
    body = {"model": "recorded", "messages": [{"role": "user", "content": words}]}
    headers = {"Content-Type": "application/json", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request("https://api.example/v1/messages", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["content"][0]["text"]

print("first", ask("hello"), flush=True)
answer = ask("what is six times seven?")
pathlib.Path("answer.txt").write_text(answer)
if answer == "crash":
    raise SystemExit(7)
"""
ANSWERS = {"recorded": "41", "right": "42", "wrong": "43", "crashes": "crash"}
PRICES = """
[prices.right]
currency = "EUR"
input = 10
output = 100
date = 2026-01-31
source = "a contract"
"""
CHECK = 'test "$(cat answer.txt)" = 42'


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A model that answers otherwise by its name, and counts."""
    with serving(HOST) as served:

        @served.on("/v1/messages")
        def messages(call: Call) -> None:
            body = json.loads(call.body)
            first = body["messages"][0]["content"] == "hello"
            text = {"type": "text", "text": "hi" if first else ANSWERS[body["model"]]}
            usage = {"input_tokens": 1000, "output_tokens": 100}
            answer = {"type": "message", "model": body["model"], "content": [text], "usage": usage}
            call.reply(200, json.dumps(answer).encode(), [("Content-Type", "application/json")])

        yield served


def record(at: Desk, upstream: Upstream, agent: str = AGENT, *more: str) -> list[str]:
    """Record the agent; return the options for the live side."""
    at.write("agent.py", agent)
    options = at.toward(upstream, HOST)
    ok(at.run(*options, *more, "--", "python3", "agent.py"))
    return options


def compare(at: Desk, *words: str | Path, **options: Any) -> Any:
    return at.hark("compare", "-at", "last-request", *words, at.bundle, timeout=120, **options)


def told(at: Desk, *words: str | Path, code: int) -> list[dict[str, Any]]:
    """The rows, as JSON."""
    rows: list[dict[str, Any]] = json.loads(ok(compare(at, "-json", *words), code).stdout)["rows"]
    return rows


def test_one_table_says_which_model_solved_it_and_what_each_cost(rootless: Desk, upstream: Upstream) -> None:
    options = record(rootless, upstream)
    before, prices = len(upstream.seen), rootless.write("prices.toml", PRICES)
    words = ("-models", "right,wrong,crashes", "-verify", CHECK, "-prices", prices, *options)
    ended = ok(compare(rootless, *words), 1)
    head, right, wrong, crashes, *remarks = ended.stdout.splitlines()
    assert head.split()[:5] == ["MODEL", "VERDICT", "CHECK", "AGENT", "ACTIONS"]
    assert head.split()[5:] == ["TOKENS", "COST", "LIVE", "BUNDLE"]
    assert re.match(r"right +FORKED +pass +exit 0 +\d+ +1000 \+ 100 +0\.02 EUR +\d+\.\d s +/", right)
    assert re.match(r"wrong +FORKED +fail \(1\) +exit 0 +\d+ +1000 \+ 100 +no price +", wrong)
    assert re.match(r"crashes +FORKED +fail \(1\) +exit 7 +", crashes)
    assert remarks == ["wrong: no price for wrong", "crashes: no price for crashes"]
    assert "runs as you, outside the boundary" in ended.stderr
    asked = sorted(json.loads(seen.body)["model"] for seen in upstream.seen[before:])
    assert asked == ["crashes", "right", "wrong"]  # each model once: what was before it was played
    for line in (right, wrong, crashes):
        bundle = line.split()[-1]
        assert ok(rootless.hark("verify", bundle)).stdout.startswith("VERIFIED")
        assert "REPLAY-EQUAL" in ok(rootless.hark("replay", bundle)).stderr


def test_all_that_passed_is_0_and_a_copy_is_of_one_fork_alone(rootless: Desk, upstream: Upstream) -> None:
    options = record(rootless, upstream)
    out, keep = rootless.project.parent / "out", rootless.project.parent / "kept"
    words = ("-models", "right,wrong", "-repeat", "2", "-o", out, "-keep", keep, *options)
    ended = ok(compare(rootless, *words, "-verify", "test -s answer.txt && echo $HARK_MODEL"))
    assert [line.split()[0] for line in ended.stdout.splitlines()[1:5]] == ["right", "wrong"] * 2
    assert ended.stdout.splitlines()[-2:] == ["right: 2 of 2 passed", "wrong: 2 of 2 passed"]
    names = ["1-right-1", "1-right-2", "2-wrong-1", "2-wrong-2"]
    assert sorted(path.stem for path in out.glob("*.hark")) == names
    for name in names:
        model = name.split("-")[1]
        assert (keep / name / "answer.txt").read_text() == ANSWERS[model]
        assert (keep / f"{name}.check.log").read_text() == f"{model}\n"
        assert "first hi" in (keep / f"{name}.log").read_text()
    copies = rootless.project.parent / "state" / "hark" / "copies"
    assert not copies.exists() or not list(copies.iterdir())
    assert (rootless.project / "answer.txt").read_text() == "41"  # the user's own is as the run left it


SHARED = """
import pathlib, sys
mark = pathlib.Path(sys.argv[1], "second")
first = not mark.exists()
mark.touch()
"""


def test_a_fork_that_diverged_is_a_row_that_says_so(rootless: Desk, upstream: Upstream) -> None:
    """The two forks share a folder outside their copies: the second finds what the first has left there."""
    shared = rootless.project.parent / "shared"
    shared.mkdir()
    os.chmod(shared, 0o777)
    agent = SHARED + AGENT.replace('ask("hello")', 'ask("hello" if first else "other")')
    rootless.write("agent.py", agent)
    options = rootless.toward(upstream, HOST)
    ok(rootless.run(*options, f"-write={shared}", "--", "python3", "agent.py", str(shared)))
    (shared / "second").unlink()
    words = ("-models", "right,wrong", "-jobs", "1", "-verify", "true", "-write", shared, *options)
    one, two = told(rootless, *words, code=1)
    assert (one["verdict"], one["check"], one["passed"]) == ("FORKED", "pass", True)
    assert (two["verdict"], two["check"], two["passed"]) == ("FORK-DIVERGED", "not run", False)
    assert "before the branch point it did not do as recorded" in two["why"]
    assert two["live"] is None
    assert Path(two["bundle"]).exists()


def test_a_branch_point_that_is_not_there_is_said_once_for_each_and_is_2(
    rootless: Desk, upstream: Upstream
) -> None:
    options = record(rootless, upstream)
    words = ("compare", "-at", "99999", "-models", "right,wrong", *options, rootless.bundle)
    ended = ok(rootless.hark(*words), 2)
    assert ended.stdout.count("NOT-FORKED") == 2
    assert "99999" in ended.stdout.splitlines()[-1]


def test_told_to_end_it_ends_the_forks_which_seal_their_bundles(rootless: Desk, upstream: Upstream) -> None:
    options = record(rootless, upstream)
    asked, free = threading.Event(), threading.Event()

    @upstream.on("/v1/messages")
    def hang(call: Call) -> None:
        asked.set()
        free.wait(60)
        call.reply(500)

    (runs,) = (rootless.project.parent / "state" / "hark").glob("runs")
    before = set(runs.glob("*.hark"))
    process = rootless.start("compare", "-at", "last-request", "-models", "right", *options, rootless.bundle)
    assert asked.wait(60)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    free.set()
    assert process.returncode == 130, said
    (left,) = set(runs.glob("*.hark")) - before
    for _ in range(100):
        if rootless.hark("verify", left).returncode == 0:
            break
        time.sleep(0.1)
    assert ok(rootless.hark("verify", left)).stdout.startswith("VERIFIED")
