"""What a run did to a tree."""

import os
import socket
from pathlib import Path

import pytest
from blake3 import blake3

from hark.bundle.events import FileResult, ShimReport
from hark.snapshot import results as module
from hark.snapshot import survey as surveying
from hark.snapshot.collect import Collected
from hark.snapshot.results import results
from hark.snapshot.survey import Descent, Search
from tests.hark.snapshot import trees


def told(root: Path, before: Collected, search: Search | None = None) -> list[FileResult | ShimReport]:
    return list(results(str(root), before, {b".env"}, search))


def digest(text: str) -> bytes:
    return blake3(text.encode()).digest()


def test_a_run_that_touches_nothing_has_no_results(tmp_path: Path):
    before = trees.collected(trees.made(tmp_path))
    assert told(tmp_path, before) == []


def test_what_was_made_changed_and_removed_is_told_by_path(tmp_path: Path):
    before = trees.collected(trees.made(tmp_path))
    (tmp_path / "src/new").mkdir()
    (tmp_path / "src/new/b.py").write_text("b")
    (tmp_path / "src/a.py").write_text("print(2)\n")  # under its second name too
    (tmp_path / "src/tool").chmod(0o755)
    (tmp_path / "dangling").unlink()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("src/tool")
    (tmp_path / "y.log").write_text("ignored")
    (tmp_path / ".env").write_text("the host's own")
    assert told(tmp_path, before) == [
        FileResult("dangling", 0, b""),
        FileResult("link", 0o120777, digest("src/tool")),
        FileResult("src/a.py", 0o100644, digest("print(2)\n")),
        FileResult("src/new/b.py", 0o100644, digest("b")),
        FileResult("src/same.py", 0o100644, digest("print(2)\n")),
        FileResult("src/tool", 0o100755, digest("#!/bin/sh\n")),
    ]


def test_a_file_that_became_a_link_and_back_is_told_as_what_it_is(tmp_path: Path):
    (tmp_path / "f").write_text("text")
    before = trees.collected(tmp_path)
    (tmp_path / "f").unlink()
    (tmp_path / "f").symlink_to("text")
    assert told(tmp_path, before) == [FileResult("f", 0o120777, digest("text"))]


def test_what_holds_the_same_again_is_no_difference(tmp_path: Path):
    before = trees.collected(trees.made(tmp_path))
    (tmp_path / "src/tool").unlink()
    (tmp_path / "src/tool").write_text("#!/bin/sh\n")
    (tmp_path / "src/tool").chmod(0o750)
    os.utime(tmp_path / ".gitignore")
    assert told(tmp_path, before) == []


def test_a_change_that_keeps_size_and_time_is_found(tmp_path: Path):
    (tmp_path / "f").write_text("one")
    before = trees.collected(tmp_path)
    status = os.stat(tmp_path / "f")
    (tmp_path / "f").write_text("two")
    os.utime(tmp_path / "f", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert told(tmp_path, before) == [FileResult("f", 0o100644, digest("two"))]


def test_a_file_with_a_credential_is_named_and_not_hashed(tmp_path: Path):
    before = trees.collected(tmp_path)
    (tmp_path / "leak").write_text("hunter2")
    (tmp_path / "link").symlink_to("/hunter2")
    found = told(tmp_path, before, lambda data: "API" if b"hunter2" in data else None)
    why = "holds the value of secrets.API"
    assert found == [ShimReport("files", "leak", why), ShimReport("files", "link", why)]


def test_what_was_not_read_before_is_told_when_it_was_touched(tmp_path: Path):
    (tmp_path / "f").write_text("one")
    before = trees.collected(tmp_path)
    before.entries[b"f"] = b""
    assert told(tmp_path, before) == []
    (tmp_path / "f").write_text("two")
    assert told(tmp_path, before) == [FileResult("f", 0o100644, digest("two"))]


def test_results_have_a_bound_in_number_and_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = trees.collected(tmp_path)
    for number in range(5):
        (tmp_path / f"f{number}").write_text("x" * 100)
    monkeypatch.setattr(module, "MAX_RESULTS", 3)
    found = told(tmp_path, before)
    assert [type(one) for one in found] == [FileResult] * 3 + [ShimReport]
    assert found[-1] == ShimReport("files", "2 more files", "a run records 3 at most")
    monkeypatch.setattr(module, "MAX_READ", 250)
    found = told(tmp_path, before)
    assert [type(one) for one in found] == [FileResult] * 2 + [ShimReport] * 2
    assert found[2] == ShimReport("files", "f2", "more than 250 bytes would have to be read")


def test_what_cannot_be_compared_is_named_and_not_called_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    trees.made(tmp_path)
    (tmp_path / "src/deep").mkdir()
    (tmp_path / "src/deep/f").write_text("f")
    monkeypatch.setattr(surveying, "MAX_DEPTH", 3)
    monkeypatch.setattr(module, "MAX_DEPTH", 3)
    before = trees.collected(tmp_path)
    assert told(tmp_path, before) == []  # a pipe and a socket that were there are no news
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/in").write_text("in")
    assert told(tmp_path, before) == [FileResult("a/b/c/in", 0o100644, digest("in"))]
    (tmp_path / "a/b/c/d").mkdir()
    (tmp_path / "a/b/c/d/too").write_text("too")
    os.mkfifo(tmp_path / "a/fifo")
    (tmp_path / "link").unlink()
    os.mkfifo(tmp_path / "link")
    (tmp_path / "hunter2").write_text("x")
    (tmp_path / "y.log").write_text("ignored")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "new"))

    def closed(descent: Descent, path: bytes) -> int:
        if path == b"src/deep":
            raise PermissionError(13, "Permission denied")  # root is refused nothing
        return opened(descent, path)

    opened = Descent.folder
    monkeypatch.setattr(Descent, "folder", closed)
    expected = [
        FileResult("a/b/c/in", 0o100644, digest("in")),
        FileResult("link", 0, b""),
        ShimReport("files", "a/b/c/d/", "3 folders in one another are looked into at most"),
        ShimReport("files", "src/deep/", "it cannot be listed"),
        ShimReport("files", "(a name)", "holds the value of secrets.API"),
        ShimReport("files", "a/fifo", "it is a FIFO"),
        ShimReport("files", "link", "it is a FIFO"),
        ShimReport("files", "new", "it is a socket"),
    ]
    assert told(tmp_path, before, lambda data: "API" if b"hunter2" in data else None) == expected
    monkeypatch.setattr(module, "MAX_UNCOMPARED", 2)
    bounded = told(tmp_path, before, lambda data: "API" if b"hunter2" in data else None)
    assert bounded[:-1] == expected[:4]
    assert bounded[-1] == ShimReport("files", "4 more that could not be compared", "2 are named at most")


def test_a_tree_that_is_gone_is_an_error(tmp_path: Path):
    (tmp_path / "p").mkdir()
    before = trees.collected(tmp_path / "p")
    (tmp_path / "p").rmdir()
    with pytest.raises(OSError, match="No such file"):
        told(tmp_path / "p", before)


def test_what_a_changed_file_holds_is_handed_on_where_it_is_little_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = trees.collected(trees.made(tmp_path))
    (tmp_path / "small").write_text("12345678")
    (tmp_path / "large").write_text("123456789")
    (tmp_path / "key").write_text("hidden")
    (tmp_path / "leads").symlink_to("small")
    monkeypatch.setattr(module, "MAX_FILE", 8)
    handed: dict[bytes, bytes] = {}

    def search(data: bytes | str) -> str | None:
        return "k" if data == b"hidden" else None

    found = list(results(str(tmp_path), before, {b".env"}, search, handed.__setitem__))
    assert handed == {digest("12345678"): b"12345678"}
    assert FileResult("large", 0o100644, digest("123456789")) in found
    assert [event.what for event in found if isinstance(event, ShimReport)] == ["key"]
