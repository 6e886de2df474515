"""Files made of what somebody else wrote."""

import os
import stat
from pathlib import Path

import pytest
from blake3 import blake3

from hark.errors import BundleError, HarkError, UsageError
from hark.snapshot.archive import FILE, FOLDER, LINK, SAME, Entry
from hark.snapshot.collect import Packer
from hark.snapshot.extract import extract, masked
from hark.snapshot.names import spelled
from hark.snapshot.stored import Stored
from tests.hark.snapshot import trees

MOST = 1 << 20


def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir(exist_ok=True)
    return tmp_path / "out"


def forged(*entries: Entry, left_out: dict[str, str] | None = None) -> Stored:
    """A bundle's word for these entries, its manifest included."""
    packer = Packer()
    manifest = {}
    for entry in entries:
        packer.add(entry)
        if entry.kind != FOLDER:
            data = (
                next(one.data for one in entries if one.path == entry.data)
                if entry.kind == SAME
                else entry.data
            )
            manifest[spelled(entry.path)] = blake3(data).digest()
    kept = packer.finish()
    return Stored(manifest, left_out or {}, kept.hash, kept.data)


def test_a_copy_is_the_tree_again(tmp_path: Path):
    (tmp_path / "p").mkdir()
    extract(trees.stored(trees.made(tmp_path / "p")), str(out(tmp_path)), MOST)
    before, after = trees.facts(tmp_path / "p"), trees.facts(out(tmp_path))
    left = {"x.log", "node_modules", "node_modules/big.js", "pipe", "socket", ".env"}
    assert after.keys() == before.keys() - left | {".env"}
    assert {name: after[name] for name in after if name != ".env"} == {
        name: before[name] for name in before.keys() - left
    }
    assert after[".env"][2] == b""
    one, two = (os.stat(tmp_path / "out/src" / name) for name in ("a.py", "same.py"))
    assert one.st_ino == two.st_ino


def test_it_is_collected_as_it_was(tmp_path: Path):
    """A replay's own record begins with the same bytes."""
    (tmp_path / "p").mkdir()
    recorded = trees.stored(trees.made(tmp_path / "p"))
    extract(recorded, str(out(tmp_path)), MOST)
    again = trees.stored(out(tmp_path))
    assert (again.hash, again.entries) == (recorded.hash, recorded.entries)
    assert again.left_out == {".env": "masked"}


def test_a_folder_closed_to_its_owner_is_made_closed(tmp_path: Path):
    stored = forged(
        Entry(FOLDER, b"d", 0o500), Entry(FOLDER, b"d/e", 0), Entry(FILE, b"d/e/f", 0o400, 0, b"x")
    )
    extract(stored, str(out(tmp_path)), MOST)
    assert stat.S_IMODE(os.stat(tmp_path / "out/d").st_mode) == 0o500
    assert stat.S_IMODE(os.stat(tmp_path / "out/d/e").st_mode) == 0
    os.chmod(tmp_path / "out/d", 0o700)
    os.chmod(tmp_path / "out/d/e", 0o700)
    assert (tmp_path / "out/d/e/f").read_text() == "x"


def test_times_that_no_file_system_has_do_no_harm(tmp_path: Path):
    extract(forged(Entry(FILE, b"f", 0o644, (1 << 63) - 1, b"x")), str(out(tmp_path)), MOST)
    assert (tmp_path / "out/f").read_text() == "x"


@pytest.mark.parametrize(
    "entries",
    [
        (Entry(FILE, b"../escaped", 0o644, 0, b"x"),),
        (Entry(FILE, b"/tmp/hark-escaped", 0o644, 0, b"x"),),
        (Entry(LINK, b"l", data=b".."), Entry(FILE, b"l/escaped", 0o644, 0, b"x")),
        (Entry(LINK, b"l", data=b"../escaped"), Entry(FILE, b"l", 0o644, 0, b"x")),
        (Entry(FOLDER, b"d"), Entry(FILE, b"d", 0o644, 0, b"x")),
        (Entry(FILE, b"f", 0o6755, 0, b"x"),),
        (Entry(7, b"dev", 0o644, 0, b"x"),),
    ],
)
def test_nothing_is_written_outside(tmp_path: Path, entries: tuple[Entry, ...]):
    with pytest.raises(BundleError):
        extract(forged(*entries), str(out(tmp_path)), MOST)
    assert os.listdir(tmp_path) == ["out"]
    assert not os.path.lexists("/tmp/hark-escaped")


def test_a_masked_path_leads_nowhere_else(tmp_path: Path):
    link = Entry(LINK, b"l", data=b"..")
    for name in ("../escaped", "/escaped", "l/escaped", "a//b", "\\xzz", "l"):
        for child in out(tmp_path).iterdir():
            child.unlink()
        with pytest.raises(HarkError):
            extract(forged(link, left_out={name: "masked"}), str(out(tmp_path)), MOST)
        assert os.listdir(tmp_path) == ["out"]


def test_masked_paths_are_there_to_be_covered(tmp_path: Path):
    left = {"a/.env": "masked", "odd\\xff\\\\": "masked", "keys/": "masked folder", "x.log": "ignored by git"}
    stored = forged(left_out=left)
    assert list(masked(stored)) == [(b"a/.env", False), (b"odd\xff\\", False), (b"keys", True)]
    extract(stored, str(out(tmp_path)), MOST)
    assert sorted(trees.facts(out(tmp_path))) == ["a", "a/.env", "keys", "odd\\xff\\\\"]
    assert (tmp_path / "out/keys").is_dir()


def test_what_is_not_what_the_bundle_says_is_refused(tmp_path: Path):
    good = forged(
        Entry(FILE, b"f", 0o644, 0, b"x"), Entry(SAME, b"g", data=b"f"), Entry(LINK, b"l", data=b"f")
    )
    for bad in (
        good._replace(hash=bytes(32)),
        *(good._replace(entries=good.entries | {name: bytes(32)}) for name in "fgl"),
        *(
            good._replace(entries={key: h for key, h in good.entries.items() if key != name})
            for name in "fgl"
        ),
        good._replace(data=good.data[:-1]),
        good._replace(data=good.data + b"x"),
    ):
        for child in out(tmp_path).iterdir():
            child.unlink()
        with pytest.raises(BundleError):
            extract(bad, str(out(tmp_path)), MOST)
    for child in out(tmp_path).iterdir():
        child.unlink()
    extract(good, str(out(tmp_path)), MOST)


def test_a_bomb_is_refused_by_its_size(tmp_path: Path):
    bomb = forged(Entry(FILE, b"zeros", 0o644, 0, bytes(200 << 20)))
    assert len(bomb.data) < 1 << 20
    with pytest.raises(BundleError, match="larger than"):
        extract(bomb, str(out(tmp_path)), MOST)
    assert os.listdir(tmp_path / "out") == []


def test_a_directory_that_is_not_empty_is_refused(tmp_path: Path):
    (out(tmp_path) / "mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        extract(forged(Entry(FILE, b"f", 0o644, 0, b"x")), str(out(tmp_path)), MOST)
    assert os.listdir(tmp_path / "out") == ["mine"]
