"""What a run keeps of its project, from the command line to files again."""

import os
import tempfile
from pathlib import Path

import pytest

from hark.bundle.events import decode
from hark.bundle.walk import BundleFile
from hark.snapshot.extract import extract
from hark.snapshot.stored import Stored, put_together
from tests.e2e.rig import Desk, ok

pytestmark = pytest.mark.e2e

PYTHON = next(path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(path))


def stored(at: Desk) -> Stored:
    with BundleFile(str(at.bundle)) as file:
        events = [decode(placed.frame.kind, placed.frame.payload) for placed in file.frames()]
    return put_together(events, str(at.project))


def test_the_project_can_be_made_again_as_it_was_and_the_edit_is_on_the_record(at: Desk, tmp_path: Path):
    at.write("a.py", "print(1)\n")
    at.write(".env", "KEY=precious\n")
    script = "git init -q . && echo 'print(2)' > a.py && rm b.py && cat .env; echo made > c.txt"
    at.write("b.py", "")
    ok(at.run("--", "sh", "-c", script))
    kept = stored(at)
    extract(kept, str(tmp_path), 1 << 20)
    assert sorted(os.listdir(tmp_path)) == [".env", "a.py", "b.py"]
    assert (tmp_path / "a.py").read_text() == "print(1)\n"
    assert (tmp_path / ".env").read_text() == ""
    results = {event["path"]: event for event in at.events("FileResult")}
    assert {"a.py", "b.py", "c.txt", ".git/HEAD"} <= results.keys()
    assert results["b.py"]["fields"]["hash"] == {"hex": ""}
    assert results["a.py"]["mode"] == 0o100644
    assert ".env" not in results


def test_no_snapshot_keeps_hashes_alone(at: Desk):
    at.write("a.py", "print(1)\n")
    ok(at.run("-no-snapshot", "--", "true"))
    assert at.events("Snapshot") == []
    assert stored(at).entries.keys() == {"a.py"}


def test_a_project_beyond_the_limit_is_told_of(at: Desk):
    at.write("big", "x" * 5000)
    at.write("policy.toml", '[snapshot]\nmax = "1kB"\n')
    ended = ok(at.run("-policy=policy.toml", "--", "true"))
    assert "hark: nothing of the project was kept for a replay: it has" in ended.stderr
    (report,) = at.events("ShimReport")
    assert report["source"] == "files"
    assert at.events("Snapshot") == []


WRITES = """
import sys
notes = sys.argv[1]
with open(f"{notes}/new.txt", "w") as file:
    file.write(open("word.txt").read())
with open(f"{notes}/log.txt", "a") as file:
    file.write("once more\\n")
"""


def test_what_is_written_besides_the_project_is_compared(at: Desk) -> None:
    """The control is another word: the same agent, which writes something else there."""
    with tempfile.TemporaryDirectory(dir=at.user.env["HOME"]) as name:
        log = Path(name) / "log.txt"
        log.write_text("before\n")
        for path in (name, log):
            os.chown(path, at.user.uid, at.user.gid)
        at.write("agent.py", WRITES)
        at.write("word.txt", "one")
        ok(at.run("-write", name, "--", PYTHON, "agent.py", name))
        results = {event["path"]: event for event in at.events("FileResult")}
        assert {path: event["was_there"] for path, event in results.items()} == {
            f"{name}/log.txt": True,
            f"{name}/new.txt": False,
        }
        assert b"before" not in at.bundle.read_bytes()
        ok(at.hark("replay", at.bundle))
        assert log.read_text() == "before\nonce more\n"
        other = at.write("other/agent.py", WRITES).parent
        at.write("other/word.txt", "two")
        ended = ok(at.hark("replay", "-workdir", other, at.bundle), 1)
        assert f"file {name}/new.txt" in ended.stderr


STATE = """
import json, os, sys
path = sys.argv[1]
state = json.loads(open(path).read() or "{}")
if os.path.exists("write"):
    with open(path, "w") as file:
        json.dump(state | {"runs": 1}, file)
print(os.path.isfile(path))
"""


def test_a_single_file_that_may_be_written_is_one_in_a_replay_and_is_compared(at: Desk) -> None:
    """The control is the same agent, which leaves it alone."""
    with tempfile.TemporaryDirectory(dir=at.user.env["HOME"]) as name:
        state = Path(name) / "state.json"
        state.write_text('{"private": 1}')
        for path in (name, state):
            os.chown(path, at.user.uid, at.user.gid)
        at.write("agent.py", STATE)
        at.write("write", "")
        assert ok(at.run("-write", state, "--", PYTHON, "agent.py", state)).stdout == "True\n"
        (result,) = (event for event in at.events("FileResult") if event["path"] == str(state))
        assert result["was_there"]
        assert b"private" not in at.bundle.read_bytes()
        written = state.read_text()
        again = ok(at.hark("replay", at.bundle))
        assert (again.stdout, state.read_text()) == ("True\n", written)
        other = at.write("other/agent.py", STATE).parent
        ended = ok(at.hark("replay", "-workdir", other, at.bundle), 1)
        assert "hark: REPLAY-DIVERGED: " in ended.stderr
        assert f"file {state}" in ended.stderr
