"""Where a record will lie is settled before the run, and so is whose key seals it."""

from pathlib import Path

import pytest

from hark import keys
from hark.errors import HarkError
from hark.ids import is_ulid
from hark.running.keeping import find_place


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def test_a_first_run_makes_a_key_and_says_so_and_a_second_one_uses_it(tmp_path: Path) -> None:
    said: list[str] = []
    first = find_place(None, None, environ(tmp_path), said.append)
    second = find_place(None, None, environ(tmp_path), said.append)
    assert len(said) == 1
    assert keys.name(first.key.public_key) in said[0]
    assert first.key.public_key == second.key.public_key
    assert first.run_id != second.run_id


def test_the_record_lies_under_its_id_outside_of_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    place = find_place(str(tmp_path / "out/run.hark"), None, environ(tmp_path), lambda _: None)
    assert is_ulid(place.run_id)
    assert place.path == f"{tmp_path}/.local/state/hark/runs/{place.run_id}.hark"
    assert place.output == f"{tmp_path}/out/run.hark"


def test_a_key_that_was_named_is_the_one(tmp_path: Path) -> None:
    key = keys.generate()
    keys.create_private(str(tmp_path / "mine.key"), key)
    place = find_place(None, str(tmp_path / "mine.key"), environ(tmp_path), lambda _: None)
    assert place.key.public_key == key.public_key


def test_what_could_not_be_written_at_the_end_is_refused_now(tmp_path: Path) -> None:
    (tmp_path / "run.hark").write_bytes(b"older")
    with pytest.raises((HarkError, OSError)):
        find_place(str(tmp_path / "run.hark"), None, environ(tmp_path), lambda _: None)
    with pytest.raises((HarkError, OSError)):
        find_place(str(tmp_path / "nowhere/run.hark"), None, environ(tmp_path), lambda _: None)
