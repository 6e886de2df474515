"""What git would go on with runs nothing, or is found."""

from pathlib import Path

import pytest

from hark.plan.unfinished import ill

TODO, OPTS = "rebase-merge/git-rebase-todo", "sequencer/opts"

HARMLESS = [
    (TODO, ""),
    (TODO, "pick 1234567 a change\nf 89abcde\nlabel x\nmerge -C 12 x # y\n\n# exec in a comment\n"),
    (TODO, "; another sign for comments\n  pick 1\n\tnoop\n"),
    ("rebase-merge/strategy", "ort\n"),
    (OPTS, "[options]\n\tno-commit = true\n\tstrategy = recursive\n\tstrategy-option = theirs\n"),
]
ILL = [
    (TODO, "pick 1\nexec touch ran\n"),
    (TODO, "  x\ttouch ran"),
    (TODO, "later-command x\n"),
    (TODO, "pick 1\0"),
    ("rebase-merge/strategy", "x/../program"),
    (OPTS, "[options]\n\tstrategy = x/../program\n"),
    (OPTS, '[options] strategy = "x/../program"\n'),
    (OPTS, "[options]\n\tstrategy = \\x\n\ty = \\\n"),
]


def left(git: Path, name: str, text: str) -> list[str]:
    (git / name).parent.mkdir()
    (git / name).write_text(text)
    return list(ill(str(git)))


@pytest.mark.parametrize(("name", "text"), HARMLESS)
def test_what_git_writes_without_programs_is_harmless(tmp_path: Path, name: str, text: str) -> None:
    assert left(tmp_path, name, text) == []


@pytest.mark.parametrize(("name", "text"), ILL)
def test_what_may_run_a_program_or_write_anywhere_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert left(tmp_path, name, text) == [f"{tmp_path}/{name}"]


def test_a_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "sequencer").mkdir()
    (tmp_path / "sequencer" / "opts").symlink_to("x")
    assert list(ill(str(tmp_path))) == [f"{tmp_path}/sequencer/opts"]
