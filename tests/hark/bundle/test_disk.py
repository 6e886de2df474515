import os
import stat

import pytest

from hark.bundle import disk
from hark.bundle.disk import Disk


def test_the_file_is_new_private_and_locked_until_closed(tmp_path):
    path = str(tmp_path / "b")
    before = os.umask(0o777)
    try:
        one = Disk(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    fd = os.open(path, os.O_RDONLY)
    assert disk.is_locked(fd)
    one.close()
    one.close()
    assert not disk.is_locked(fd)
    os.close(fd)


def test_an_existing_file_or_a_symbolic_link_is_never_opened(tmp_path):
    (tmp_path / "there").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        with pytest.raises(FileExistsError):
            Disk(str(tmp_path / name))
    assert (tmp_path / "there").read_text() == "mine"


def test_short_writes_are_carried_on_with(tmp_path, monkeypatch):
    real = os.write
    one = Disk(str(tmp_path / "b"))
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))
    one.write(b"0123456789")
    one.close()
    assert (tmp_path / "b").read_bytes() == b"0123456789"


def test_end_says_how_far_a_failed_write_came_and_the_file_can_be_cut(tmp_path, monkeypatch):
    real, calls = os.write, iter([True, False])

    def failing(fd, data):
        if next(calls):
            return real(fd, data[:4])
        raise OSError(28, "No space left on device")

    one = Disk(str(tmp_path / "b"))
    monkeypatch.setattr(os, "write", failing)
    with pytest.raises(OSError, match="No space"):
        one.write(b"0123456789")
    assert one.end == 4
    one.cut(2)
    assert (one.end, os.path.getsize(tmp_path / "b")) == (2, 2)
    one.sync()
    one.remove()
    assert not (tmp_path / "b").exists()


def test_a_glance_at_the_lock_does_not_keep_a_writer_out(tmp_path, monkeypatch):
    import fcntl

    real, refusals = fcntl.flock, iter([True, True, False])

    def glanced_at(fd, operation):
        if next(refusals):
            raise BlockingIOError
        return real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", glanced_at)
    Disk(str(tmp_path / "b")).close()
