"""A tree read once: hashes and copy."""

import os
from pathlib import Path

import pytest
from blake3 import blake3

from hark.policy.model import Secret
from hark.snapshot import collect as module
from hark.snapshot.archive import FILE, FOLDER, LINK, SAME, Entry, Reader
from hark.snapshot.collect import Collected
from hark.snapshot.unpack import Unpacking
from mediator.credentials import Broker
from tests.hark.snapshot import trees


def entries(found: Collected) -> dict[bytes, Entry]:
    assert found.kept is not None
    source = Unpacking(found.kept.data)
    read = {entry.path: entry for entry in Reader(source, 1 << 30)}
    assert source.finish() == found.kept.hash
    return read


def test_files_links_folders_and_second_names_are_kept(tmp_path: Path):
    found = trees.collected(trees.made(tmp_path))
    kept = entries(found)
    assert {path: entry.kind for path, entry in kept.items()} == {
        b".gitignore": FILE, b"dangling": LINK, b"link": LINK, b"odd\xff\\name": FILE, b"empty": FOLDER,
        b"src": FOLDER, b"src/a.py": FILE, b"src/same.py": SAME, b"src/tool": FILE,
    }  # fmt: skip
    assert kept[b"src/a.py"] == Entry(FILE, b"src/a.py", 0o644, 1_000_000_007, b"print(1)\n")
    assert (kept[b"src/tool"].mode, kept[b"empty"].mode) == (0o750, 0o700)
    assert kept[b"dangling"].data == b"/nowhere/at/all"
    assert found.entries[b"src/a.py"] == found.entries[b"src/same.py"] == blake3(b"print(1)\n").digest()
    assert found.entries[b"link"] == blake3(b"src/a.py").digest()
    assert found.left_out[b".env"] == "masked"
    assert b".env" not in found.entries


def test_the_same_tree_gives_the_same_bytes(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        trees.made(tmp_path / name)
        for path in (tmp_path / name).rglob("*"):
            os.utime(path, ns=(5, 5), follow_symlinks=False)
    one, two = (trees.collected(tmp_path / name).kept for name in ("one", "two"))
    assert one == two
    (tmp_path / "two/src/tool").chmod(0o700)
    assert trees.collected(tmp_path / "two").kept != one


@pytest.mark.parametrize(
    "spelling",
    [
        b"{}",
        b"Basic eDpodW50ZXIyaHVudGVyMmh1bnRlcjI=",
        b"68756e7465723268756e7465723268756e74657232",
        b"x{}y",
    ],
)
def test_a_file_with_a_credential_is_left_out_in_every_spelling(tmp_path: Path, spelling: bytes):
    value = "hunter2hunter2hunter2"
    broker = Broker([Secret("API", value, "hark-placeholder-api-0000000000", ())])
    (tmp_path / "config").write_bytes(spelling.replace(b"{}", value.encode()))
    (tmp_path / "link").symlink_to(f"/x/{value}")
    (tmp_path / "plain").write_text("nothing")
    for most in (1 << 20, 1):  # with a copy and without: a hash of a short file gives its content away too
        found = trees.collected(tmp_path, most, search=broker.real_value_in)
        reason = "holds the value of secrets.API"
        assert found.left_out == {b"config": reason, b"link": reason}
        assert list(found.entries) == [b"plain"]
    assert list(entries(trees.collected(tmp_path, search=broker.real_value_in))) == [b"plain"]
    assert b"config" in trees.collected(tmp_path).entries


def test_a_credential_across_two_pieces_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_PIECE", 8)
    (tmp_path / "f").write_bytes(b"......hunter2.......")
    found = trees.collected(tmp_path, 1, search=lambda data: "API" if b"hunter2" in data else None)
    assert found.left_out == {b"f": "holds the value of secrets.API"}


def test_a_tree_that_is_too_large_has_a_manifest_and_no_copy(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 1000)
    (tmp_path / "b").write_bytes(b"y" * 1000)
    assert trees.collected(tmp_path, 2000).why == ""
    found = trees.collected(tmp_path, 1999)
    assert (found.kept, found.why) == (None, "it has 2000 bytes, more than 1999")
    assert found.entries[b"a"] == blake3(b"x" * 1000).digest()


def test_what_is_read_without_a_copy_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_UNKEPT", 1500)
    for name in "ab":
        (tmp_path / name).write_bytes(b"x" * 1000)
    assert trees.collected(tmp_path, 1).entries == {b"a": blake3(b"x" * 1000).digest(), b"b": b""}


def test_a_large_repository_leaves_room_for_the_work(tmp_path: Path):
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / ".git/objects/pack").write_bytes(b"x" * 1000)
    (tmp_path / ".github").write_bytes(b"y" * 10)
    found = trees.collected(tmp_path, 500)
    assert list(entries(found)) == [b".github"]
    assert found.why == "it has 1010 bytes with its .git, more than 500; .git is not in it"
    assert found.left_out == {b".git/": "not kept"}
    assert b".git/objects/pack" in entries(trees.collected(tmp_path, 1010))


def test_no_copy_is_made_where_none_is_wanted(tmp_path: Path):
    (tmp_path / "a").write_text("x")
    found = trees.collected(tmp_path, keep=False)
    assert (found.kept, found.why, list(found.entries)) == (None, "", [b"a"])


def test_a_file_that_changes_while_it_is_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_text("stays")
    (tmp_path / "busy").write_text("0")
    still = module.same
    calls = []

    def never(one: os.stat_result, other: os.stat_result) -> bool:
        calls.append(one)
        return still(one, other) and one.st_ino != os.stat(tmp_path / "busy").st_ino

    monkeypatch.setattr(module, "same", never)
    found = trees.collected(tmp_path)
    assert found.left_out == {b"busy": "changed while it was read"}
    assert list(entries(found)) == list(found.entries) == [b"a"]
    assert len(calls) == 3  # it was given a second try


def test_a_file_that_has_grown_since_it_was_weighed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a").write_text("small")
    weighed = module._to_keep

    def grow(*given: object) -> tuple[bool, ...]:
        (tmp_path / "a").write_bytes(b"x" * 5000)
        return weighed(*given)

    monkeypatch.setattr(module, "_to_keep", grow)
    assert trees.collected(tmp_path).left_out == {b"a": "changed while it was read"}
