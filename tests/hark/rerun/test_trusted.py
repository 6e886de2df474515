"""Whose bundles run without a question: a list that is the caller's alone, read whole or not at all."""

import os
from pathlib import Path

import pytest

from hark.errors import PolicyError, UsageError
from hark.rerun import trusted
from tests.support.rerecorded import STRANGER

KEY = STRANGER.public_key


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def test_a_key_that_was_added_is_known_and_added_once(tmp_path: Path) -> None:
    assert trusted.known(environ(tmp_path)) == {}
    assert trusted.add(environ(tmp_path), KEY, "ann's\nlaptop")
    assert not trusted.add(environ(tmp_path), KEY, "again")
    known = trusted.known(environ(tmp_path))
    assert list(known) == [KEY]
    assert known[KEY].startswith("ann's\\nlaptop (")
    path = trusted.list_path(environ(tmp_path))
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_list_that_others_can_write_is_refused(tmp_path: Path) -> None:
    trusted.add(environ(tmp_path), KEY, "")
    os.chmod(trusted.list_path(environ(tmp_path)), 0o666)
    with pytest.raises(PolicyError, match="can be written by others"):
        trusted.known(environ(tmp_path))


def test_comments_and_blank_lines_count_for_nothing(tmp_path: Path) -> None:
    assert trusted.parse(f"# mine\n\n  {KEY.hex().upper()} ann\n", "list") == {KEY: "ann"}


@pytest.mark.parametrize("line", ["beef", f"{KEY.hex()}00", f"x{KEY.hex()[1:]}", f"{KEY.hex()}\tann"])
def test_a_line_that_is_no_key_spoils_the_list(line: str) -> None:
    with pytest.raises(PolicyError, match="line 2 of list"):
        trusted.parse(f"{KEY.hex()}\n{line}\n", "list")


def test_another_list_is_read_beside_the_own_one(tmp_path: Path) -> None:
    other = tmp_path / "team"
    other.write_text(f"{bytes(32).hex()} team\n")
    trusted.add(environ(tmp_path), KEY, "ann")
    assert set(trusted.known(environ(tmp_path), str(other))) == {KEY, bytes(32)}
    with pytest.raises(UsageError, match="-trusted-keys"):
        trusted.known(environ(tmp_path), str(tmp_path / "gone"))
