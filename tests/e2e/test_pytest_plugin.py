"""A marked test in a real boundary: recorded once, replayed without a server, failed by what differs."""

import subprocess

import pytest

from tests.e2e.rig import Desk
from tests.fakes.upstream import Call, serving
from tests.support.user import identity

pytestmark = pytest.mark.e2e

TEST = """
import json, urllib.request
import pytest

PROMPT, HOST = "hi", "api.example"

@pytest.mark.hark("it.hark", policy="policy.toml")
def test_it(tmp_path):
    body = json.dumps({"messages": [{"content": PROMPT}]}).encode()
    request = urllib.request.Request(f"http://{HOST}/v1", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        assert answer.read() == b"hello"
"""


def run(at: Desk, *words: str) -> tuple[int, str]:
    """Run pytest in the project as that user."""
    done = subprocess.run(
        [at.user.python, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=at.project,
        env=dict(at.user.env) | at.env,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        **identity(at.user),
    )
    return done.returncode, done.stdout + done.stderr


def test_a_test_is_recorded_once_replayed_and_failed_by_what_differs(rootless: Desk) -> None:
    at = rootless
    at.write("test_it.py", TEST)
    at.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")
    bundle = at.project / "it.hark"
    with serving("api.example", tls=False) as upstream:

        @upstream.on("/v1")
        def answer(call: Call) -> None:
            call.reply(200, b"hello")

        table = f'[[allow]]\nhost = "api.example"\nport = 80\nupstream = "{upstream.address}"\n'
        at.write("policy.toml", table)
        at.write("test_it.py", TEST.replace('b"hello"', 'b"other"'))
        code, said = run(at, "--hark-record=once")
        assert (code, "the recording failed" in said, bundle.exists()) == (1, True, False), said
        assert "assert b'hello' == b'other'" in said, said
        assert "Warning" not in said, said
        at.write("test_it.py", TEST)
        code, said = run(at, "--hark-record=once")
        assert (code, "hark: 1 recorded" in said, bundle.exists()) == (0, True, True), said
        asked = len(upstream.seen)
    recorded = bundle.read_bytes()
    code, said = run(at, "--hark-record=once")
    assert (code, "hark: 1 replayed" in said, asked) == (0, True, 2), said
    at.write("test_it.py", TEST.replace('"hi"', '"ho"'))
    code, said = run(at)
    assert (code, "$.messages[0].content differs at byte 1" in said) == (1, True), said
    assert said.count("not as recorded: test_it.py differs") == 1, said
    at.write("test_it.py", TEST.replace('"api.example"\n', '"elsewhere.example"\n'))
    code, said = run(at)
    assert (code, "REPLAY-DIVERGED" in said, "elsewhere.example" in said) == (1, True, True), said
    assert "FAILED test_it.py::test_it - REPLAY-DIVERGED: " in said
    assert "again.hark" not in said, "it is gone by then"
    at.write("test_it.py", TEST.replace('b"hello"', 'b"other"'))
    code, said = run(at)
    assert (code, "REPLAY-DIVERGED" in said, "AssertionError" in said) == (1, True, True), said
    assert bundle.read_bytes() == recorded
    assert [path.name for path in at.project.iterdir() if path.name.startswith(".hark-")] == []


def test_what_was_recorded_one_way_is_replayed_the_other(rootless: Desk) -> None:
    at = rootless
    at.write("test_it.py", TEST)
    at.env["PYTEST_DEBUG_TEMPROOT"] = str(at.project.parent)  # /tmp's is by name, and may be another user's
    ways = {"boundary": "process", "process": "boundary"}
    for way, other in ways.items():
        with serving("api.example", tls=False) as upstream:
            upstream.on("/v1")(lambda call: call.reply(200, b"hello"))
            table = f'[[allow]]\nhost = "api.example"\nport = 80\nupstream = "{upstream.address}"\n'
            at.write("policy.toml", table)
            code, said = run(at, "--hark-record=all", f"--hark-way={way}")
            assert (code, "hark: 1 recorded" in said) == (0, True), said
        code, said = run(at, f"--hark-way={other}")
        assert (code, "hark: 1 replayed" in said) == (0, True), said
        at.write("test_it.py", TEST.replace('"hi"', '"ho"'))
        code, said = run(at, f"--hark-way={other}")
        assert (code, "$.messages[0].content differs at byte 1" in said) == (1, True), said
        at.write("test_it.py", TEST)
        verdict = at.hark("verify", at.project / "it.hark").stdout
        assert ("UNCONTAINED" in verdict) is (way == "process"), verdict


LEAVING = """
import ctypes, os
import pytest

@pytest.mark.hark("it.hark")
def test_it(tmp_path):
    {}
    assert False
"""
ENDS = [
    ("os._exit(0)", "FAILED test_it.py::test_it - the test's process left with 0 before", 1),
    (
        "os.execv('/bin/true', ['true'])",
        "FAILED test_it.py::test_it - the test's process left with 0 before",
        1,
    ),
    ("ctypes.CDLL(None).exit(0)", "FAILED test_it.py::test_it - the test's process left with 0 before", 1),
    ("pytest.skip('not today')", "SKIPPED [1] ", 0),
    ("pytest.xfail('not yet')", "FAILED test_it.py::test_it - the test inside failed as expected", 1),
]


@pytest.mark.parametrize(("left", "told", "expected"), ENDS)
def test_a_test_that_does_not_come_to_its_end_has_not_passed(
    rootless: Desk, left: str, told: str, expected: int
) -> None:
    """The control: its process leaves with 0, which is all that there is to see of it from outside."""
    at = rootless
    at.write("test_it.py", LEAVING.format(left))
    bundle = at.project / "it.hark"
    code, said = run(at, "-rfs", "--hark-record=once")
    assert (code, told in said, bundle.exists()) == (expected, True, False), said
    inside = ["-B", "-m", "pytest", "--hark-inside", "-p", "no:cacheprovider", "-q", "test_it.py::test_it"]
    done = at.hark("run", "-o", str(bundle), "--", at.user.python, *inside)
    assert done.returncode == 0, done.stderr
    code, said = run(at, "-rfs")
    assert (code, told in said) == (expected, True), said
