"""A text goes through the caller's editor, and its file is gone afterwards."""

import os

import pytest

from hark.cli.editor import edit
from hark.errors import UsageError

PATH = {"PATH": os.environ["PATH"]}


def test_what_the_editor_leaves_comes_back(tmp_path):
    editor = f"sed -i.bak -e s/one/two/ -e w{tmp_path}/seen"
    assert edit("say one ü\n", {**PATH, "EDITOR": editor}) == "say two ü\n"
    assert (tmp_path / "seen").read_text() == "say two ü\n"


def test_visual_comes_before_editor_and_sees_one_private_file(tmp_path):
    look = f'sh -c \'echo "$@" > {tmp_path}/args; stat -c %a "$(dirname "$1")" >> {tmp_path}/args\' sh'
    assert edit('{"a": 1}\n', {**PATH, "VISUAL": look, "EDITOR": "false"}) == '{"a": 1}\n'
    file, mode = (tmp_path / "args").read_text().splitlines()
    assert file.endswith("/body.json")
    assert mode == "700"
    assert not os.path.exists(file)


@pytest.mark.parametrize(
    ("editor", "why"),
    [
        ("false", "the editor ended with 1"),
        ("hark-no-such-editor 2>/dev/null", "the editor ended with 127"),
        ("rm", "the editor left no file"),
        ("printf '\\377' >", "not UTF-8"),
    ],
)
def test_an_editor_that_fails_starts_nothing(editor, why):
    with pytest.raises(UsageError, match=why):
        edit("text\n", {**PATH, "EDITOR": editor})
