import errno
import os
import stat
import threading

import pytest

from hark.bundle import cbor, footing
from hark.bundle.anchor import Anchor
from hark.bundle.footing import change_footer, footer_of
from hark.bundle.frame import FOOTER_SENTINEL, LENGTH, block
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.errors import BundleError, TruncatedError, UsageError
from hark.verify import VERIFIED, verify
from tests.hark.bundle.bundles import EVENTS, HEADER, write


def adding(bundle):
    return lambda footer: footer._replace(anchors=(*footer.anchors, Anchor(bundle)))


def anchors(path):
    with BundleFile(str(path)) as file:
        return [anchor.bundle for anchor in footer_of(file)[1].anchors]


def test_all_but_the_footer_stays_and_a_second_change_sees_the_first(tmp_path):
    path = write(tmp_path / "b")
    with BundleFile(str(path)) as file:
        at, before = footer_of(file)
    frames = path.read_bytes()[:at]
    for number in range(3):
        changed = change_footer(str(path), adding(b"%d" % number))
        assert changed._replace(anchors=()) == before
    assert path.read_bytes()[:at] == frames
    assert anchors(path) == [b"0", b"1", b"2"]
    change_footer(str(path), lambda footer: footer._replace(anchors=()))
    assert verify(str(path)).verdict == VERIFIED
    assert [one.name for one in tmp_path.iterdir()] == ["b"]


def test_mode_stays_and_a_link_stays_a_link(tmp_path):
    path = write(tmp_path / "b")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to("b")
    change_footer(str(tmp_path / "link"), adding(b"x"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (tmp_path / "link").is_symlink()
    assert anchors(path) == [b"x"]


def test_a_bundle_that_is_read_only_is_left_alone_in_words(tmp_path):
    path = write(tmp_path / "b")
    path.chmod(0o400)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"read-only.*chmod u\+w"):
        change_footer(str(path), adding(b"x"))
    assert path.read_bytes() == before


def test_a_bundle_without_footer_is_refused_in_words(tmp_path):
    path = write(tmp_path / "b")
    os.truncate(path, path.stat().st_size - 5)
    before = path.read_bytes()
    with pytest.raises(TruncatedError, match="not sealed"):
        change_footer(str(path), adding(b"x"))
    assert path.read_bytes() == before


def test_a_bundle_that_is_being_written_is_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(footing, "PATIENCE", 0.05)
    path = str(tmp_path / "b")
    with Writer.create(path, HEADER) as writer:
        writer.append(EVENTS[0])
        with pytest.raises(UsageError, match="being written"):
            change_footer(path, adding(b"x"))


def test_a_footer_with_what_is_not_known_here_is_left_alone(tmp_path):
    path = write(tmp_path / "b")
    with BundleFile(str(path)) as file:
        at = footer_of(file)[0]
        raw = cbor.decode(file.footer_block(at))
    later = path.read_bytes()[:at] + LENGTH.pack(FOOTER_SENTINEL) + block(cbor.encode(raw | {99: b"later"}))
    path.write_bytes(later)
    with pytest.raises(BundleError, match="does not know"):
        change_footer(str(path), adding(b"x"))
    assert path.read_bytes() == later


@pytest.mark.parametrize("what", ["fchmod", "fsync", "rename"])
def test_whatever_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, what):
    path = write(tmp_path / "b")
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, what, fail)
    with pytest.raises(UsageError, match="No space left"):
        change_footer(str(path), adding(b"x"))
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["b"]


def test_an_error_of_the_change_itself_changes_nothing(tmp_path):
    path = write(tmp_path / "b")
    before = path.read_bytes()

    def refuse(_):
        raise BundleError("no")

    with pytest.raises(BundleError):
        change_footer(str(path), refuse)
    assert path.read_bytes() == before


def test_of_many_that_change_one_bundle_at_once_none_is_lost(tmp_path):
    path = write(tmp_path / "b")
    names = [b"%d" % number for number in range(8)]
    threads = [threading.Thread(target=change_footer, args=(str(path), adding(name))) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(anchors(path)) == names
