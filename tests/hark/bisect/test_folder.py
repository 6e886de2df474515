"""A bisection's folder: what was run stays, whatever ends the program, and answers one question alone."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Job, Question
from hark.bisect.folder import Folder
from hark.errors import UsageError

ABOUT = {"bundle": "ab", "-until": "denied", "changes": ["-model=x"]}
DONE = Done("a" * 64, 0, Shown.SEEN, "", 1.5, "a-0.hark")
OTHER = Done("b" * 64, 2, Shown.NOTHING, "it broke", 0.1, "b-2.hark")


def test_what_was_noted_is_known_to_the_next_that_opens_it(tmp_path: Path) -> None:
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.noted == []
        folder.note(DONE)
        folder.note(OTHER)
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.noted == [DONE, OTHER]


def test_a_run_that_was_half_written_is_none_and_the_next_one_is_whole(tmp_path: Path) -> None:
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        folder.note(DONE)
    runs = tmp_path / "f" / "runs.jsonl"
    runs.write_bytes(runs.read_bytes() + runs.read_bytes()[:20])
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.noted == [DONE]
        folder.note(OTHER)
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.noted == [DONE, OTHER]


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


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "nonsense",
        '{"key": 1}',
        '{"key": "a", "trial": "x"}',
        json.dumps(DONE._asdict() | {"key": "../" * 20}),
        json.dumps(DONE._asdict() | {"key": "A" * 64}),
    ],
)
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


def test_a_run_that_was_made_anew_is_noted_as_it_went_last(tmp_path: Path) -> None:
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        folder.note(DONE)
        folder.note(DONE._replace(shown=Shown.GONE))
    with Folder(str(tmp_path / "f"), ABOUT) as folder:
        assert folder.noted == [DONE._replace(shown=Shown.GONE)]


JOB = Job(Question(3, b'{"body": ""}'), 0)
NAMES = [
    "found.json.part",
    "question.json.part",
    "question.json",
    "run.hark",
    "run.hark.part",
    "runs.jsonl",
    *(
        f"children/{JOB.question.key[:16]}-{name}"
        for name in ("0.log", "0.json", "0.hark", "patch.json.part")
    ),
]


def made(tmp_path: Path) -> Path:
    """A folder that a bisection left."""
    Folder(str(tmp_path / "f"), ABOUT).close()
    return tmp_path / "f"


def used(folder: Folder, bundle: Path) -> None:
    """Write all that a bisection writes."""
    for path in (folder.log(JOB), folder.said(JOB)):
        with folder.opened(path) as file:
            file.write(b"what an agent prints")
    Path(folder.child(JOB)).write_bytes(b"child")
    folder.patch(JOB)
    folder.found(b"{}")
    folder.note(DONE)
    folder.copied(str(bundle))


@pytest.mark.attack
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_in_a_strangers_folder_leads_nowhere(tmp_path: Path, name: str, link: Any) -> None:
    (tmp_path / "mine").write_text("precious")
    folder = made(tmp_path)
    (folder / name).unlink(missing_ok=True)
    link(tmp_path / "mine", folder / name)
    with pytest.raises(UsageError, match=f"{name} is a link, or no file of yours"):
        Folder(str(folder), ABOUT)
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.attack
@pytest.mark.parametrize("name", [name for name in NAMES if name != "runs.jsonl"])
def test_a_link_that_is_put_there_meanwhile_is_not_followed_either(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").write_text("precious")
    with Folder(str(made(tmp_path)), ABOUT) as folder:
        path = Path(folder.path) / name
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path / "mine")
        used(folder, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.attack
def test_children_that_are_a_link_to_a_folder_of_mine_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    folder = made(tmp_path)
    (folder / "children").rmdir()
    (folder / "children").symlink_to(tmp_path / "mine")
    with pytest.raises(UsageError, match="children is a link"):
        Folder(str(folder), ABOUT)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, make: Any) -> None:
    folder = made(tmp_path)
    make(folder / "children" / "x-0.log")
    with pytest.raises(UsageError, match=r"x-0.log is a link, or no file of yours"):
        Folder(str(folder), ABOUT)


@pytest.mark.parametrize("name", ["question.json", "runs.jsonl"])
def test_a_note_without_an_end_is_not_read(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path)
    os.truncate(folder / name, 1 << 40)
    with pytest.raises(UsageError, match=f"{name} is larger than any bisection's"):
        Folder(str(folder), ABOUT)


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UsageError, match="belongs to somebody else"):
        Folder(str(folder), ABOUT)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("mine")
    with pytest.raises(UsageError, match="name another folder"):
        Folder(str(tmp_path / "f"), ABOUT)


def test_the_control_a_folder_without_links_is_written(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    for _ in range(2):
        with Folder(str(tmp_path / "f"), ABOUT) as folder:
            used(folder, tmp_path / "mine")
    written = {str(path.relative_to(folder.path)) for path in Path(folder.path).rglob("*") if path.is_file()}
    assert written == {name.removesuffix(".part") for name in NAMES} | {"found.json"}
    assert (Path(folder.path) / "run.hark").read_text() == "precious"
