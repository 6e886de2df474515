"""A file that the operator names is read whole, or refused in a sentence that names it."""

import os
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.given import open_given, read_given, read_whole


def test_a_file_is_read_up_to_its_ceiling_and_refused_beyond(tmp_path: Path) -> None:
    path = tmp_path / "roots.pem"
    path.write_bytes(b"12345")
    assert read_given(str(path), 5, "-upstream-ca") == b"12345"
    with pytest.raises(PolicyError, match=r"-upstream-ca .*roots\.pem is larger than 4 bytes"):
        read_given(str(path), 4, "-upstream-ca")


def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PolicyError, match="cannot read policy p: it is a pipe"):
        open_given(str(tmp_path / "pipe"), "policy p")
    with pytest.raises(PolicyError, match="cannot read policy p: no such file"):
        open_given(str(tmp_path / "none"), "policy p")


def test_a_file_that_opens_and_cannot_be_read_is_refused_by_its_name() -> None:
    with pytest.raises(PolicyError, match="cannot read policy p: input/output error"):
        read_whole("/proc/self/mem", 5, "policy p")  # nothing is mapped at its beginning
