"""A new file is there whole or not at all, whatever stops its writer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hark import newfile
from hark.newfile import writing

SLOW = """
import sys
from hark.newfile import writing
with writing(sys.argv[1], 0o600) as file:
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["nameless", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways in which a file system has new files."""
    if request.param == "named":
        monkeypatch.setattr(
            newfile, "_NAMELESS", os.O_WRONLY | os.O_DIRECTORY
        )  # EISDIR, as where there are none
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_what_was_written_is_there_with_its_mode(tmp_path: Path) -> None:
    with writing(str(tmp_path / "new"), 0o600) as file:
        file.write(b"whole")
    assert (tmp_path / "new").read_bytes() == b"whole"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("way")
def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), writing(str(tmp_path / "new"), 0o600):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("there", ["file", "link", "folder"])
def test_what_is_there_is_neither_changed_nor_removed(tmp_path: Path, there: str) -> None:
    at = tmp_path / "new"
    if there == "folder":
        at.mkdir()
    elif there == "link":
        at.symlink_to(tmp_path / "elsewhere")
    else:
        at.write_bytes(b"old")
    with pytest.raises(FileExistsError) as raised, writing(str(at), 0o600) as file:
        file.write(b"new")
    assert raised.value.filename == str(at)
    assert [one.name for one in tmp_path.iterdir()] == ["new"]
    assert there != "file" or at.read_bytes() == b"old"


def test_what_comes_to_its_place_meanwhile_stays(tmp_path: Path) -> None:
    at = tmp_path / "new"
    with pytest.raises(FileExistsError), writing(str(at), 0o600):
        at.write_bytes(b"another's")
    assert at.read_bytes() == b"another's"


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_writer_that_is_killed_leaves_nothing(tmp_path: Path, sent: signal.Signals) -> None:
    words = [sys.executable, "-c", SLOW, str(tmp_path / "new")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        writer.send_signal(sent)
        assert writer.wait(60) == -sent
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "new", Path("/proc/new")):
        with pytest.raises(OSError, match="new") as raised, writing(str(path), 0o600):
            pass
        assert raised.value.filename == str(path)
