"""Runs that a folder says were made: what counts is what their bundles show, not what is said."""

from pathlib import Path
from typing import Any

import pytest

from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Job, Question
from hark.bisect.expression import parse
from hark.bisect.folder import Folder
from hark.bisect.judging import Judge
from hark.bisect.kept import counted
from hark.bisect.removal import as_file
from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.bundle.hashing import content_hash
from hark.bundle.tree_head import SigningKey
from tests.support.recordings import HEADER, recording
from tests.support.rerecorded import STRANGER, write

OWN = SigningKey(bytes(32))
PARENT = b"p" * 32
PATCH = b'{"body": ""}'
EVIL = ev.DnsDecision("evil.example", allowed=False)
JOB = Job(Question(3, as_file(PATCH)), 0)
JUDGE = Judge(parse("denied"), PARENT, 0)


def fork(path: str, *more: Any, key: SigningKey | None = OWN, seal: bool = True, **changes: Any) -> None:
    """Write a child as a fork does; `changes` are those of its branch, and `header` and `ends`."""
    named, ends = changes.pop("header", {}), changes.pop("ends", {})
    about: dict[str, Any] = {"parent": PARENT, "at": 3, "side": "response", "patch": PATCH}
    lineage: dict[str, Any] = {"parent_root": PARENT, "fork_point": 3, "patch_hash": content_hash(PATCH)}
    events = recording(ev.Branch(**about | changes), *more, **ends)
    write(Path(path), events, HEADER._replace(**lineage | named), key=key, seal=seal)


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    with Folder(str(tmp_path / "f"), {}) as folder:
        yield folder


def known(folder: Folder, *noted: Done, key: SigningKey = OWN) -> list[Done]:
    """What counts of the runs that are noted, in the process that opens the folder next."""
    for done in noted:
        folder.note(done)
    folder.close()
    with Folder(folder.path, {}) as again:
        return list(counted(again, JUDGE, key.public_key))


def done(shown: Shown, trial: int = 0, question: Question = JOB.question) -> Done:
    return Done(question.key, trial, shown, "", 1.0, "x.hark")


def test_a_run_counts_by_its_bundle(folder: Folder) -> None:
    fork(folder.child(JOB), EVIL)
    assert known(folder, done(Shown.SEEN)) == [done(Shown.SEEN)]


def test_so_does_a_run_with_nothing_removed(folder: Folder) -> None:
    job = Job(Question(3, b""), 0)
    fork(folder.child(job), EVIL, patch=b"")
    assert known(folder, done(Shown.SEEN, question=job.question)) == [done(Shown.SEEN, question=job.question)]


def test_a_run_without_the_outcome_counts_as_well(folder: Folder) -> None:
    fork(folder.child(JOB))
    assert known(folder, done(Shown.GONE)) == [done(Shown.GONE)]


@pytest.mark.attack
@pytest.mark.parametrize(
    "made",
    [
        {"key": STRANGER},
        {"key": None},
        {"seal": False},
        {"at": 4},
        {"patch": b"{}"},
        {"parent": b"q" * 32},
        {"header": {"parent_root": b"q" * 32}},
        {"ends": {"end": RunEnd(reason="recorder-failed the disk is full")}},
        {"ends": {"end": RunEnd(exit_code=9, reason="exit")}},
    ],
    ids=str,
)
def test_what_is_only_said_of_a_run_does_not_count(folder: Folder, made: dict[str, Any]) -> None:
    fork(folder.child(JOB), **made)
    assert known(folder, done(Shown.GONE)) == []


@pytest.mark.attack
def test_a_run_that_left_no_bundle_and_one_that_left_garbage_do_not_count(folder: Folder) -> None:
    Path(folder.child(Job(JOB.question, 1))).write_bytes(b"garbage")
    assert known(folder, done(Shown.GONE), done(Shown.GONE, 1)) == []


@pytest.mark.attack
def test_the_outcome_is_read_and_not_believed(folder: Folder) -> None:
    fork(folder.child(JOB), EVIL)
    assert known(folder, done(Shown.GONE)) == []


@pytest.mark.attack
def test_one_bundle_is_one_run(folder: Folder) -> None:
    fork(folder.child(JOB))
    fork(folder.child(Job(JOB.question, 1)))
    assert known(folder, done(Shown.GONE), done(Shown.GONE, 1)) == [done(Shown.GONE)]


@pytest.mark.attack
def test_another_questions_bundle_is_not_this_ones(folder: Folder) -> None:
    other = Question(3, as_file(b"{}"))
    fork(folder.child(Job(other, 0)))
    assert known(folder, done(Shown.GONE, question=other)) == []


@pytest.mark.attack
def test_without_a_key_of_ones_own_nothing_counts(folder: Folder) -> None:
    fork(folder.child(JOB), key=None)
    folder.note(done(Shown.GONE))
    folder.close()
    with Folder(folder.path, {}) as again:
        assert list(counted(again, JUDGE, b"")) == []


def test_a_run_that_showed_nothing_is_asked_again(folder: Folder) -> None:
    fork(folder.child(JOB))
    assert known(folder, done(Shown.NOTHING)) == []
