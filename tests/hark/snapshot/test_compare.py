"""How a tree differs from a manifest, in words."""

from pathlib import Path

import pytest

from hark.snapshot.compare import MAX_NAMED, differences, in_words
from tests.hark.snapshot import trees


def test_the_same_tree_differs_in_nothing(tmp_path: Path):
    stored = trees.stored(trees.made(tmp_path))
    assert differences(stored, str(tmp_path)) == []


def test_each_file_is_named_with_what_is_wrong(tmp_path: Path):
    stored = trees.stored(trees.made(tmp_path))
    (tmp_path / "src/a.py").write_text("print(2)\n")
    (tmp_path / "src/new.py").write_text("")
    (tmp_path / "src/tool").unlink()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / ".env").write_text("mine")
    (tmp_path / "y.log").write_text("ignored here")
    assert differences(stored, str(tmp_path)) == [
        "link differs",
        "src/a.py differs",
        "src/new.py is not in the recording",
        "src/same.py differs",
        "src/tool is missing",
    ]


def test_what_the_recording_left_out_is_not_looked_at(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a").write_text("x")
    stored = trees.stored(tmp_path, exclude=("data/",))
    assert differences(stored, str(tmp_path)) == []
    assert differences(stored._replace(left_out={}), str(tmp_path)) == ["data/a is not in the recording"]


def test_what_was_not_read_is_said_to_be_so(tmp_path: Path):
    (tmp_path / "a").write_text("x" * 10)
    stored = trees.stored(tmp_path)
    assert differences(stored, str(tmp_path), most=5) == ["a was not compared: there is too much to read"]
    assert differences(stored._replace(entries={"a": b""}), str(tmp_path)) == []


def test_nobody_reads_a_thousand_lines(tmp_path: Path):
    assert in_words(["a"]) == ["a"]
    lines = in_words([str(number) for number in range(1000)])
    assert (len(lines), lines[-1]) == (MAX_NAMED + 1, "and 980 more differ")


def test_a_tree_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(OSError, match="No such file"):
        differences(trees.stored(tmp_path), str(tmp_path / "gone"))
