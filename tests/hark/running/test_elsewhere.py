"""What a run does in folders besides its project: on the record at the end, and nothing of it before."""

import os
from pathlib import Path

import pytest

from hark.bundle.events import FileResult, FsManifest, ShimReport
from hark.running.elsewhere import Elsewhere, places
from launcher.plan import Access, Grant, Plan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A writable folder with something in it."""
    made = tmp_path / "notes"
    made.mkdir()
    (made / "old").write_text("private")
    (made / "kept").write_text("private")
    return made


def plan(tmp_path: Path, *grants: Grant) -> Plan:
    project = str(tmp_path / "app")
    os.makedirs(project, exist_ok=True)
    shown = (Grant(project, Access.WRITE, "project directory"), *grants)
    return Plan(argv=("true",), executable="/bin/true", workdir=project, env={}, grants=shown, home="/home/a")


def looked(folder: Path) -> Elsewhere:
    granted = Grant(str(folder), Access.WRITE, "write_paths")
    made = Elsewhere(plan(folder.parent, granted), (), None)
    made.look()
    return made


def test_what_was_made_written_and_removed_is_told_by_its_path_and_nothing_else(folder: Path) -> None:
    elsewhere = looked(folder)
    assert list(elsewhere.opening()) == [FsManifest(root=str(folder))]
    (folder / "new").write_text("made")
    (folder / "old").unlink()
    results = {event.path: event for event in elsewhere.closing() if isinstance(event, FileResult)}
    assert list(results) == [f"{folder}/new", f"{folder}/old"]
    made, removed = results.values()
    assert (made.was_there, made.mode & 0o777, len(made.hash)) == (False, 0o644, 32)
    assert removed == FileResult(f"{folder}/old", 0, b"", was_there=True)


def test_what_cannot_be_compared_is_told_with_the_folder_that_it_is_in(folder: Path) -> None:
    elsewhere = looked(folder)
    os.mkfifo(folder / "fifo")
    assert list(elsewhere.closing()) == [ShimReport("files", f"fifo in {folder}", "it is a FIFO")]


def test_a_replay_tells_of_the_recorded_folders_alone_and_knows_what_lay_there(folder: Path) -> None:
    for only, paths in (((), []), ((str(folder),), [f"{folder}/new"])):
        elsewhere = looked(folder)
        elsewhere._before.clear()
        elsewhere.only, elsewhere.there = only, (f"{folder}/new",)
        elsewhere.look()
        (folder / "new").write_text("made")
        found = [event for event in elsewhere.closing() if isinstance(event, FileResult)]
        assert [event.path for event in found] == paths
        assert all(event.was_there for event in found)
        (folder / "new").unlink()


def test_folders_count_once_and_only_those_that_were_asked_for(folder: Path, tmp_path: Path) -> None:
    within = folder / "within"
    within.mkdir()
    single = tmp_path / "single"
    single.write_text("")
    grants = (
        Grant(str(folder), Access.WRITE, "-write"),
        Grant(str(within), Access.WRITE, "write_paths"),
        Grant(str(single), Access.WRITE, "write_paths"),
        Grant("/usr", Access.READ, "write_paths"),
        Grant("/var", Access.WRITE, "system"),
        Grant("/seen/as", Access.WRITE, "write_paths", str(within)),
    )
    found = list(places(plan(tmp_path, *grants)))
    assert found == [(str(folder), str(folder)), (str(single), str(single)), ("/seen/as", str(within))]


def test_of_a_single_file_it_is_told_whether_it_was_written(folder: Path) -> None:
    """Not what it held before; and that it was left alone is the control."""
    single = folder / "old"
    elsewhere = looked(single)
    assert list(elsewhere.opening()) == [FsManifest(root=str(single), single=True)]
    assert list(elsewhere.closing()) == []
    single.write_text("private")  # with what it held, too
    (event,) = elsewhere.closing()
    assert isinstance(event, FileResult)
    assert (event.path, event.was_there, len(event.hash)) == (str(single), True, 32)
    single.unlink()
    assert list(elsewhere.closing()) == [FileResult(str(single), 0, b"", was_there=True)]


def test_a_single_file_that_holds_a_credential_or_became_a_link_is_named(folder: Path) -> None:
    single = folder / "old"
    granted = Grant(str(single), Access.WRITE, "-write")
    found = Elsewhere(plan(folder.parent, granted), (), lambda text: "TOKEN" if b"value" in text else None)
    found.look()
    single.write_text("the value")
    (event,) = found.closing()
    assert isinstance(event, ShimReport)
    assert event.why == "holds the value of secrets.TOKEN"
    single.unlink()
    single.symlink_to(folder / "kept")
    (event,) = found.closing()
    assert isinstance(event, ShimReport)
