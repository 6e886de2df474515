"""A bundle is run on a word of the caller's, and what it asks for is shown before."""

from pathlib import Path

import pytest

from hark.errors import UntrustedError
from hark.policy.model import Policy
from hark.rerun.admitting import ONCE, admit, own_key
from hark.rerun.recalled import recall
from hark.rerun.replaying import Asked
from tests.support.recordings import bundle


def test_without_a_key_nothing_is_ones_own(tmp_path: Path) -> None:
    assert own_key({"HOME": str(tmp_path)}) == b""


def test_who_is_asked_is_shown_first_and_no_answer_is_no(tmp_path: Path) -> None:
    path = bundle(tmp_path / "run.hark")
    recalled, said = recall(path), list[str]()
    answers = iter(["", ONCE])

    def ask(_name: str) -> str:
        assert any(line.startswith("  command") for line in said)
        return next(answers)

    environ = {"HOME": str(tmp_path)}
    with pytest.raises(UntrustedError):
        admit(recalled, Policy(), Asked(path), environ, say=said.append, ask=ask)
    assert "in none of your lists" in admit(
        recalled, Policy(), Asked(path), environ, say=said.append, ask=ask
    )
