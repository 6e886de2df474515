"""The attendant at the other end of a channel: what cannot be attended is said, and never begun."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.events import Boundary
from hark.inprocess import words
from hark.inprocess.attendant import attend
from hark.inprocess.words import Job
from launcher import wire
from tests.hark.bundle.bundles import RUN, write


def asked(job: Job, environ: dict[str, str]) -> wire.Message:
    """Return what the attendant answers first."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        wire.send(ours, words.JOB, json.dumps(job.said()))
        attend(theirs, environ)
        return wire.receive(ours)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}


@pytest.mark.parametrize(
    ("name", "boundary", "why"),
    [
        ("test_b", (Boundary(uid=1000, gid=1000),), "and not of test_a.py::test_a"),
        ("test_a", (), "it was not recorded by hark"),
    ],
)
def test_the_bundle_of_another_test_is_not_played(
    tmp_path: Path, environ: dict[str, str], name: str, boundary: tuple[Boundary, ...], why: str
) -> None:
    argv = (sys.executable, "-m", "pytest", f"test_a.py::{name}")
    events = (RunStart(run_id=RUN, argv=argv, working_dir="/w"), *boundary, RunEnd(reason="exit"))
    bundle = str(write(tmp_path / "x.hark", events))
    job = Job((sys.executable, "-m", "pytest", "test_a.py::test_a"), str(tmp_path), f"{tmp_path}/o", bundle)
    said = asked(job, environ)
    assert (said.word, why in said.fields[0]) == (words.FAILED, True), said


def test_what_is_no_bundle_and_no_policy_is_said(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "x.hark").write_text("no bundle")
    job = Job((sys.executable, "x"), str(tmp_path), f"{tmp_path}/o", f"{tmp_path}/x.hark")
    assert asked(job, environ).word == words.FAILED
    record = Job((sys.executable, "x"), str(tmp_path), f"{tmp_path}/o", None, f"{tmp_path}/none.toml")
    said = asked(record, environ)
    assert (said.word, "none.toml" in said.fields[0]) == (words.FAILED, True), said
