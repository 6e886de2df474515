"""A bisection's folder: what was run stays, whatever ends the program, and answers one question alone."""

import json
import os
from pathlib import Path

import pytest

from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Job, Question
from hark.bisect.folder import Folder
from hark.errors import UsageError

ABOUT = {"bundle": "ab", "-until": "denied", "changes": ["-model=x"]}
DONE = Done("k" * 64, 0, Shown.SEEN, "", 1.5, "k-0.hark")
OTHER = Done("l" * 64, 2, Shown.NOTHING, "it broke", 0.1, "l-2.hark")


def test_what_was_noted_is_known_to_the_next_that_opens_it(tmp_path: Path) -> None:
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.known == []
        folder.note(DONE)
        folder.note(OTHER)
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.known == [DONE, OTHER]


def test_a_run_that_was_half_written_is_none_and_the_next_one_is_whole(tmp_path: Path) -> None:
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        folder.note(DONE)
    runs = tmp_path / "f" / "runs.jsonl"
    runs.write_bytes(runs.read_bytes() + runs.read_bytes()[:20])
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.known == [DONE]
        folder.note(OTHER)
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.known == [DONE, OTHER]


def test_it_answers_one_question_and_another_is_refused_by_what_differs(tmp_path: Path) -> None:
    Folder(str(tmp_path / "f"), ABOUT).close()
    for name in ABOUT:
        with pytest.raises(UsageError, match=f"another question: its {name} differs"):
            Folder(str(tmp_path / "f"), ABOUT | {name: "other"})
    Folder(str(tmp_path / "f"), ABOUT).close()


def test_two_at_a_time_are_refused(tmp_path: Path) -> None:
    with (
        Folder(str(tmp_path / "f"), ABOUT),
        pytest.raises(UsageError, match="in use by another bisection"),
    ):
        Folder(str(tmp_path / "f"), ABOUT)


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"key": 1}', '{"key": "a", "trial": "x"}'])
def test_a_line_that_is_no_run_is_named(tmp_path: Path, text: str) -> None:
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        folder.note(DONE)
    with (tmp_path / "f" / "runs.jsonl").open("a") as file:
        file.write(f"{text}\n")
    with pytest.raises(UsageError, match="line 2: is no run"):
        Folder(str(tmp_path / "f"), ABOUT)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="no folder of a bisection"):
        Folder(str(tmp_path), ABOUT)
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_a_question_that_cannot_be_read_is_no_question(tmp_path: Path) -> None:
    Folder(str(tmp_path / "f"), ABOUT).close()
    (tmp_path / "f" / "question.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        Folder(str(tmp_path / "f"), ABOUT)


def test_it_is_the_users_alone_and_has_a_place_for_each_run(tmp_path: Path) -> None:
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o700
        job = Job(Question(3, b'{"body": ""}'), 1)
        child = Path(folder.child(job))
        assert child.parent == tmp_path / "f" / "children"
        assert Path(folder.patch(job)).read_bytes() == job.question.patch
        assert folder.patch(Job(Question(3, b""), 0)) == ""
        child.write_bytes(b"half")  # of a process that was killed
        assert not Path(folder.child(job)).exists()
        assert folder.log(job) != folder.child(job)
        assert json.loads(Path(folder.found(b"{}")).read_bytes()) == {}


def test_a_copy_is_made_once(tmp_path: Path) -> None:
    bundle = tmp_path / "run.hark"
    bundle.write_bytes(b"one")
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        copy = folder.copied(str(bundle))
        bundle.write_bytes(b"two")
        assert Path(folder.copied(str(bundle))).read_bytes() == b"one"
        assert copy.startswith(folder.path)
