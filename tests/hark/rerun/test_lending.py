"""What the record left out comes from the caller's own directory, and nothing comes from beside it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.rerun import throwaway
from hark.rerun.lending import SMALL_BYTES, SMALL_NAMES, Lent, copied, lend, lender
from hark.rerun.throwaway import Throwaway

WORKDIR = "/home/ann/project"
IGNORED = "ignored by git"


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Throwaway]:
    with throwaway.folders(None, environ(tmp_path)) as made:
        yield made


def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def made(tmp_path: Path, **files: str) -> Path:
    """The caller's own directory: one small place, one with many files, and what the tests name."""
    root = tmp_path / "mine"
    many = {f"node_modules/{number}.js": "" for number in range(SMALL_NAMES + 1)}
    for name, text in ({"cache/entry": "old", "agent.py": ""} | many | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def lent(tmp_path: Path, folders: Throwaway, *left_out: str, why: str = IGNORED) -> Lent:
    giver = lender(str(tmp_path / "mine"), environ(tmp_path))
    return lend(dict.fromkeys(left_out, why), WORKDIR, giver, folders)


def test_a_large_place_is_shown_and_a_small_one_copied(tmp_path: Path, folders: Throwaway) -> None:
    root = made(tmp_path)
    os.chmod(root / "cache/entry", 0o640)
    found = lent(tmp_path, folders, "node_modules/", "cache/")
    assert [(one.path, one.source, one.access.value) for one in found.grants] == [
        (f"{WORKDIR}/node_modules", f"{root}/node_modules", "read")
    ]
    assert os.listdir(f"{folders.project}/node_modules") == []
    assert Path(folders.project, "cache/entry").read_text() == "old"
    assert os.stat(f"{folders.project}/cache/entry").st_mode & 0o777 == 0o640
    notes = list(found.notes(str(root)))
    assert any(note.startswith(f"shown from {root}, read-only") and "node_modules/" in note for note in notes)
    assert any(note.startswith(f"copied from {root}") and "cache/" in note for note in notes)


def test_a_file_is_copied_or_shown_by_its_size(tmp_path: Path, folders: Throwaway) -> None:
    root = made(tmp_path, **{"deep/run.log": "a line"})
    with (root / "model.bin").open("wb") as file:
        file.truncate(SMALL_BYTES + 1)
    found = lent(tmp_path, folders, "deep/run.log", "model.bin")
    assert Path(folders.project, "deep/run.log").read_text() == "a line"
    assert [one.path for one in found.grants] == [f"{WORKDIR}/model.bin"]


def test_what_nobody_has_is_named_with_why(tmp_path: Path, folders: Throwaway) -> None:
    made(tmp_path)
    found = lent(tmp_path, folders, "dist/")
    assert found.grants == []
    (note,) = found.notes("/mine")
    assert note == "not in the record, and so not here: dist/ (ignored by git)"
    (note,) = lend({"dist/": IGNORED, "x": "masked"}, WORKDIR, None, folders).notes(None)
    assert "-workdir DIR" in note
    assert "x" not in note.split("(")[0].split(": ")[1]


@pytest.mark.attack
@pytest.mark.parametrize(
    "text", ["../beside/", "/etc/", "a/../../beside/", "", "cache//entry", "\\x2e\\x2e/beside/"]
)
def test_a_name_that_leads_out_is_not_followed(tmp_path: Path, folders: Throwaway, text: str) -> None:
    made(tmp_path)
    (tmp_path / "beside").mkdir()
    found = lent(tmp_path, folders, text)
    assert (found.grants, found.copied) == ([], [])
    assert os.listdir(folders.project) == []


@pytest.mark.attack
@pytest.mark.parametrize("text", ["out/", "out", "out/deep/", "way/out/"])
def test_a_link_of_the_callers_leads_nowhere(tmp_path: Path, folders: Throwaway, text: str) -> None:
    root = made(tmp_path, **{"way/x": ""})
    (tmp_path / "beside/deep").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path / "beside")
    (root / "way/out").symlink_to(tmp_path / "beside")
    found = lent(tmp_path, folders, text)
    assert (found.grants, found.copied) == ([], [])


@pytest.mark.attack
def test_a_link_of_the_copys_has_nothing_written_elsewhere(tmp_path: Path, folders: Throwaway) -> None:
    made(tmp_path, **{"out/cache/entry": "x"})
    (tmp_path / "beside").mkdir()
    Path(folders.project, "out").symlink_to(tmp_path / "beside")
    Path(folders.project, "cache").symlink_to(tmp_path / "beside")
    found = lent(tmp_path, folders, "out/cache/", "cache/")
    assert (found.grants, found.copied) == ([], [])
    assert os.listdir(tmp_path / "beside") == []


@pytest.mark.attack
def test_credentials_in_it_are_masked_and_not_copied(tmp_path: Path, folders: Throwaway) -> None:
    made(tmp_path, **{"cache/.env": "TOKEN=abc", ".env": "TOKEN=abc", "big/.env": "TOKEN=abc"})
    for number in range(SMALL_NAMES + 1):
        (tmp_path / f"mine/big/{number}").write_text("")
    found = lent(tmp_path, folders, "cache/", ".env", "big/")
    assert sorted(found.masked) == [f"{WORKDIR}/big/.env", f"{WORKDIR}/cache/.env"]
    assert Path(folders.project, "cache/.env").read_text() == ""
    assert ".env" in found.missing
    assert not any(one.path.endswith(".env") for one in found.grants)


@pytest.mark.parametrize("why", ["holds the value of secrets.TOKEN", "socket", "not kept"])
def test_what_was_left_out_for_another_reason_is_not_shown(
    tmp_path: Path, folders: Throwaway, why: str
) -> None:
    made(tmp_path)
    found = lent(tmp_path, folders, "cache/", why=why)
    assert (found.grants, found.copied, found.missing) == ([], [], {"cache/": why})


def test_a_copy_of_the_whole_is_made_without_what_is_shown_or_kept_back(
    tmp_path: Path, folders: Throwaway
) -> None:
    made(tmp_path, **{".env": "TOKEN=abc"})
    copied(lender(str(tmp_path / "mine"), environ(tmp_path)), folders, {"node_modules/": IGNORED})
    assert sorted(os.listdir(folders.project)) == ["agent.py", "cache"]


@pytest.mark.attack
def test_harks_own_places_and_a_home_are_no_projects(tmp_path: Path) -> None:
    for name in ("home", "home/.config/hark"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        with pytest.raises(PolicyError):
            lender(str(tmp_path / name), environ(tmp_path))
