"""A real shell takes the words apart into the bytes that were recorded, and runs nothing of them."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hark.export.shellwords import fits, variables, word
from tests.hark.export.story import PLACEHOLDER

SHOW = "import os, sys; sys.stdout.buffer.write(os.fsencode(sys.argv[1]))"
HOSTILE = [
    b"", b"'", b"'; touch owned; '", b"$(touch owned)", b"`touch owned`", b"$HOME ${PATH}", b"\\", b"\\'\\",
    b"-o/etc/passwd", b"@/etc/passwd", b"a\nb\n", b"\n", b"\x1b]0;x\x07", b"\xff\xfe",
    "gr\u00fc\u00df \u202e \u200b".encode(),
    b"!history", b"%s %d \\n", b"\t\r\n", b"*?[a]{b,c}~",
]  # fmt: skip


def taken_apart(text, folder, **env):
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -c '{SHOW}' {text}"],
        cwd=folder,
        env=env,
        capture_output=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else None


@pytest.mark.parametrize("data", HOSTILE)
def test_hostile_bytes_stay_bytes(data, tmp_path):
    text = word(data, {})
    assert text.replace("\n", "").isprintable()
    assert taken_apart(text, tmp_path) == data
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60).filter(fits))
def test_any_bytes_but_nul_come_back(tmp_path, data):
    assert taken_apart(word(data, {}), tmp_path) == data


def test_a_placeholder_is_a_variable_and_unset_it_is_an_error(tmp_path):
    names = variables({PLACEHOLDER: "MODEL_KEY"}, named=True)
    text = word(b"Bearer " + PLACEHOLDER.encode() + b"'", names)
    assert PLACEHOLDER not in text
    assert taken_apart(text, tmp_path, MODEL_KEY="real $x") == b"Bearer real $x'"
    assert taken_apart(text, tmp_path) is None
    assert taken_apart(text, tmp_path, MODEL_KEY="") is None


def test_a_bundle_cannot_make_a_variable_of_common_text_or_of_a_command():
    assert variables({"e": "HOME", "POST": "X"}, named=True) == {}
    assert variables({PLACEHOLDER: "x; rm -rf ~"}, named=True) == {PLACEHOLDER.encode(): "HARK_SECRET_1"}


def test_a_stranger_cannot_name_a_variable_that_is_set_already():
    two = {PLACEHOLDER: "AWS_SECRET_ACCESS_KEY", f"{PLACEHOLDER}x": "HOME"}
    assert list(variables(two, named=False).values()) == ["HARK_SECRET_1", "HARK_SECRET_2"]


def test_a_nul_is_no_argument():
    assert not fits(b"a\0b")
