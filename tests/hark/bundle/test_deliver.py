import errno
import os
import shutil
import stat

import pytest

from hark.bundle.deliver import Destination, check_destination, deliver
from hark.errors import PolicyError, RecordError


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "store.hark"
    path.write_bytes(b"bundle" * 1000)
    path.chmod(0o600)
    return path


def crossing(monkeypatch):
    def no_link(*args, **kwargs):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_link)


@pytest.mark.parametrize("cross", [False, True])
def test_the_bundle_moves_whole_and_private(tmp_path, source, monkeypatch, cross):
    if cross:
        crossing(monkeypatch)
    deliver(str(source), str(tmp_path / "out.hark"))
    assert (tmp_path / "out.hark").read_bytes() == b"bundle" * 1000
    assert stat.S_IMODE((tmp_path / "out.hark").stat().st_mode) == 0o600
    assert not source.exists()


def test_the_bundle_moves_to_another_file_system(source):
    destination = f"/dev/shm/hark-test-{os.getpid()}.hark"
    assert os.stat("/dev/shm").st_dev != source.stat().st_dev
    try:
        deliver(str(source), destination)
        with open(destination, "rb") as file:
            assert file.read() == b"bundle" * 1000
        assert not source.exists()
    finally:
        os.unlink(destination)


def test_on_another_file_system_it_has_its_name_when_it_is_whole_and_not_before(source, monkeypatch):
    """A process that is killed amid the copy leaves nothing there, and the bundle in the store."""
    destination, poured, seen = f"/dev/shm/hark-test-{os.getpid()}.hark", shutil.copyfileobj, []

    def pour(reader, writer, size):
        poured(reader, writer, size)
        seen.append(os.path.exists(destination))

    monkeypatch.setattr(shutil, "copyfileobj", pour)
    try:
        deliver(str(source), destination)
        assert os.path.getsize(destination) == 6000
    finally:
        os.unlink(destination)
    assert seen == [False]


@pytest.mark.parametrize("cross", [False, True])
def test_nothing_that_exists_is_overwritten(tmp_path, source, monkeypatch, cross):
    if cross:
        crossing(monkeypatch)
    (tmp_path / "out").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("out", "link"):
        with pytest.raises(RecordError, match=f"overwrites nothing.*it is at {source}"):
            deliver(str(source), str(tmp_path / name))
    assert (tmp_path / "out").read_text() == "mine"
    assert source.exists()


BAD = [
    ("missing/out", "its directory does not exist"),
    ("n" * 300, "the name is too long"),
    ("a\0b", "no file name may have"),
    ("store.hark/out", "not a directory"),
    ("sub/", "it is a directory"),
]


@pytest.mark.parametrize(("name", "words"), BAD, ids=["missing", "long", "nul", "file", "slash"])
def test_a_bad_destination_is_refused_in_words_before_and_after(tmp_path, source, name, words):
    destination = f"{tmp_path}/{name}"
    with pytest.raises(PolicyError, match=words):
        check_destination(destination)
    with pytest.raises(RecordError, match=words):
        deliver(str(source), destination)
    assert source.read_bytes() == b"bundle" * 1000


def test_a_destination_that_exists_is_refused_before_the_run(tmp_path, source):
    with pytest.raises(PolicyError, match="exists already"):
        check_destination(str(source))
    with pytest.raises(PolicyError):
        check_destination(str(tmp_path))
    check_destination(str(tmp_path / "fine"))
    assert not (tmp_path / "fine").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO])
def test_a_copy_that_fails_is_removed_and_the_bundle_stays(tmp_path, source, monkeypatch, number):
    crossing(monkeypatch)

    def failing(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(shutil, "copyfileobj", failing)
    with pytest.raises(RecordError, match=f"it is at {source}"):
        deliver(str(source), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert source.exists()


@pytest.fixture
def held(tmp_path):
    """A destination in a directory of the project, taken hold of before the agent starts."""
    (tmp_path / "out").mkdir()
    (tmp_path / "victim").mkdir()
    destination = Destination.open(str(tmp_path / "out" / "rec"))
    yield destination
    destination.close()
    destination.close()


def swap_for_link(out, victim):
    out.rename(out.with_name("aside"))
    out.symlink_to(victim)


def swap_for_directory(out, victim):
    out.rename(out.with_name("aside"))
    out.mkdir()


def remove(out, victim):
    out.rmdir()


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("attack", [swap_for_link, swap_for_directory, remove])
def test_an_agent_that_replaces_the_directory_cannot_redirect_the_bundle(
    tmp_path, source, held, monkeypatch, attack, cross
):
    if cross:
        crossing(monkeypatch)
    attack(tmp_path / "out", tmp_path / "victim")
    with pytest.raises(RecordError, match=f"not the one that was there before the run; it is at {source}"):
        held.deliver(str(source))
    assert source.exists()
    assert [path for path in tmp_path.rglob("*") if path.name == "rec"] == []


@pytest.mark.parametrize("cross", [False, True])
def test_a_directory_replaced_at_the_last_moment_redirects_nothing_either(
    tmp_path, source, held, monkeypatch, cross
):
    if cross:
        crossing(monkeypatch)
    monkeypatch.setattr(
        Destination, "_refuse_another", lambda self: swap_for_link(tmp_path / "out", tmp_path / "victim")
    )
    held.deliver(str(source))
    assert list((tmp_path / "victim").iterdir()) == []
    assert (tmp_path / "aside" / "rec").read_bytes() == b"bundle" * 1000


@pytest.mark.parametrize("cross", [False, True])
def test_a_link_under_the_destinations_own_name_is_not_followed(tmp_path, source, held, monkeypatch, cross):
    if cross:
        crossing(monkeypatch)
    (tmp_path / "out" / "rec").symlink_to(tmp_path / "victim" / "rec")
    with pytest.raises(RecordError, match="overwrites nothing"):
        held.deliver(str(source))
    assert not (tmp_path / "victim" / "rec").exists()
    assert source.exists()


def test_a_directory_that_was_left_alone_gets_the_bundle_also_through_a_link_of_the_users(tmp_path, source):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    held = Destination.open(str(tmp_path / "link" / "rec"))
    held.deliver(str(source))
    held.close()
    assert (tmp_path / "real" / "rec").read_bytes() == b"bundle" * 1000


def test_the_held_directory_reaches_no_other_program(held):
    assert not os.get_inheritable(held._directory)
