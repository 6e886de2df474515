"""Forks as processes: begun side by side, ended without a trace, and judged by what they leave."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hark.bisect.counting import Shown
from hark.bisect.driver import Job, Question
from hark.bisect.expression import parse
from hark.bisect.folder import Folder
from hark.bisect.forks import Forks
from hark.bisect.judging import Judge
from hark.bundle import events as ev
from tests.support.recordings import bundle

PARENT = b"p" * 32
PROGRAM = """#!%s
import json, os, shutil, sys, time
words = sys.argv[1:]
child = words[words.index("-o") + 1]
at = words[words.index("-at") + 1]
print("agent: hello", file=sys.stderr)
if at == "1":
    print("hark: the bundle is gone", file=sys.stderr)
    sys.exit(4)
if at == "2":
    open(child, "w").close()
    open(child + ".started", "w").write(str(os.getpid()))
    time.sleep(60)
shutil.copy(os.environ["FORK"], child)
print(json.dumps({"verdict": "FORKED", "parent_root": "%s", "bundle": child, "words": words}))
""" % (sys.executable, PARENT.hex())  # noqa: UP031


@pytest.fixture
def forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forks]:
    """Forks by a program that does as `hark fork` would, without an agent."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    evil = ev.DnsDecision("evil.example", allowed=False)
    live = ev.Branch(parent=PARENT, at=3, side="response")
    monkeypatch.setenv("FORK", bundle(tmp_path / "fork.hark", live, evil))
    monkeypatch.setattr(sys, "executable", str(program))
    with Folder(str(tmp_path / "folder"), {}) as folder:
        yield Forks("run.hark", ("-policy=p",), folder, Judge(parse("denied"), PARENT, 0))


def job(at: int, patch: bytes = b"{}", trial: int = 0) -> Job:
    return Job(Question(at, patch), trial)


def test_runs_side_by_side_come_back_each_once(forks: Forks) -> None:
    jobs = [job(3, b"{}"), job(3, b""), job(3, b"{}", 1)]
    for one in jobs:
        forks.begin(one)
    done = [forks.ended() for _ in jobs]
    assert {(one.key, one.trial) for one in done} == {(one.question.key, one.trial) for one in jobs}
    assert {one.shown for one in done} == {Shown.SEEN}
    assert all((Path(forks.folder.path) / "children" / one.bundle).exists() for one in done)
    assert "agent: hello" in Path(forks.folder.log(jobs[0])).read_text()


def test_a_fork_that_comes_to_nothing_shows_nothing_and_says_why(forks: Forks) -> None:
    forks.begin(job(1))
    done = forks.ended()
    assert (done.shown, done.why) == (Shown.NOTHING, "the bundle is gone")


def test_what_nobody_needs_is_ended_with_all_that_it_left(forks: Forks) -> None:
    forks.begin(job(2))
    child = Path(forks.folder.path) / "children" / f"{job(2).question.key[:16]}-0.hark"
    started = Path(f"{child}.started")
    while not (started.exists() and started.read_text()):
        time.sleep(0.01)
    pid = int(started.read_text())
    os.kill(pid, 0)  # the control
    forks.drop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not child.exists()
    forks.drop()


def test_a_fork_that_takes_too_long_is_ended_and_shows_neither(forks: Forks) -> None:
    forks.seconds = 1
    forks.begin(job(2))
    done = forks.ended()
    assert (done.shown, done.why) == (Shown.LATE, "no answer in 1 s")
    forks.seconds = 60
    forks.begin(job(3))  # the control: one that answers is not ended
    assert forks.ended().shown is Shown.SEEN
