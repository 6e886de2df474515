"""A divergence names the agent's process that it came from, on both sides where that is known."""

import json
import os
from typing import Any

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, serving

pytestmark = pytest.mark.e2e

PYTHON = next(path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(path))
PARENT = f"""
import subprocess
for name in ("one", "two"):
    subprocess.run(["{PYTHON}", "worker.py", name], check=False)
"""
WORKER = """
import socket, sys, urllib.request
name = sys.argv[1]
urllib.request.urlopen("https://api.example/" + name, b"hello").read()
try:
    socket.create_connection(("192.0.2.1", 9000 + len(name)), 5).recv(1)
except OSError:
    pass
"""


def record(at: Desk) -> dict[str, int]:
    """Record the agent; return the numbers of its workers as they are on the record."""
    at.write("parent.py", PARENT)
    at.write("worker.py", WORKER)
    with serving("api.example") as upstream:

        def answer(call: Call) -> None:
            call.reply(200, b"well")

        upstream.on("/one")(answer)
        upstream.on("/two")(answer)
        options = at.toward(upstream, "api.example")
        ok(at.run(*options, "--", PYTHON, "parent.py"))
    attempts = at.events("EgressAttempt")
    assert all(attempt["program"].startswith("/usr/") for attempt in attempts)
    numbers = {attempt["arguments"][-1]: attempt["process"] for attempt in attempts}
    assert list(numbers) == ["one", "two"]
    assert [request["process"] for request in at.events("LlmRequest")] == list(numbers.values())
    return numbers


def replayed(at: Desk, worker: str) -> tuple[str, dict[str, Any]]:
    """Replay with another worker: what it says, and what its JSON has of processes."""
    other = at.write("other/worker.py", worker).parent
    at.write("other/parent.py", PARENT)
    said = at.hark("replay", "-workdir", other, at.bundle).stderr
    verdict = json.loads(at.hark("replay", "-json", "-workdir", other, at.bundle).stdout)
    return said, verdict["processes"]


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_divergence_names_the_process_that_it_came_from(at: Desk, name: str) -> None:
    """Each of the two is the other's control."""
    numbers = record(at)
    other = WORKER.replace('b"hello"', f'b"hullo" if name == "{name}" else b"hello"')
    said, processes = replayed(at, other)
    assert f"by process {numbers[name]}: {PYTHON} worker.py {name}\n" in said
    assert processes["recorded"] == processes["replayed"]
    assert processes["replayed"]["pid"] == numbers[name]
    assert processes["replayed"]["arguments"] == [PYTHON, "worker.py", name]


def test_two_sides_that_differ_are_both_named(rootless: Desk) -> None:
    numbers = record(rootless)
    rootless.write("other/third.py", WORKER.replace('b"hello"', 'b"hullo"'))
    third = f'if name == "two": import os; os.execv("{PYTHON}", ["{PYTHON}", "third.py", name])'
    said, processes = replayed(
        rootless, WORKER.replace("urllib.request.urlopen", f"{third}\nurllib.request.urlopen", 1)
    )
    assert f"recorded by process {numbers['two']}: {PYTHON} worker.py two\n" in said
    assert f"here by process {numbers['two']}: {PYTHON} third.py two\n" in said
    assert processes["recorded"] != processes["replayed"]


def test_an_action_that_no_connection_made_names_no_process(rootless: Desk) -> None:
    record(rootless)
    said, processes = replayed(rootless, WORKER + '\nopen("new", "w").close()\n')
    assert "file new" in said
    assert processes == {"recorded": None, "replayed": None}
