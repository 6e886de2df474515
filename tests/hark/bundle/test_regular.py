"""Pipes, devices and directories in the place of a file: refused in words, at once."""

import os

import pytest

from hark.bundle.regular import open_regular
from tests.support.apart import in_a_copy


def test_a_regular_file_is_opened_also_through_a_link(tmp_path):
    (tmp_path / "x").write_bytes(b"text")
    (tmp_path / "link").symlink_to("x")
    for name in ("x", "link"):
        with open(open_regular(str(tmp_path / name)), "rb") as file:
            assert file.read() == b"text"
            assert not os.get_inheritable(file.fileno())


@pytest.mark.parametrize(
    ("path", "words"),
    [("pipe", "a pipe"), ("/dev/zero", "a device"), ("/dev/null", "a device"), (".", "a dir")],
)
def test_what_is_no_file_is_named_and_said_to_be_what_it_is(tmp_path, path, words):
    os.mkfifo(tmp_path / "pipe")

    def check():
        before = os.listdir("/proc/self/fd")
        with pytest.raises(OSError, match=words) as caught:
            open_regular(str(tmp_path / path))
        assert caught.value.filename == str(tmp_path / path)
        assert os.listdir("/proc/self/fd") == before

    in_a_copy(check)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_regular(str(tmp_path / "no"))
