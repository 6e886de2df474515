"""Names in an index that lead out of the work tree or into `.git` are found, whatever spells them so."""

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest

from hark.plan import indexes
from hark.plan.indexes import is_sound

FILE, LINK, FOLDER = 0o100644, 0o120000, 0o040000


def git(cwd: Path, *words: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {"HOME": "/nonexistent"}
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    done = subprocess.run(["git", *who, *words], cwd=cwd, capture_output=True, text=True, env=env, check=True)
    return done.stdout


def entry(name: bytes, mode: int = FILE, *, size: int = 20, stage: int = 0) -> bytes:
    length = min(len(name), 0xFFF) | stage << 12
    made = struct.pack(f">24xI12x{size}xH", mode, length) + name
    return made + bytes(8 - len(made) % 8)


def index(*entries: bytes, version: int = 2, more: bytes = b"", count: int | None = None) -> bytes:
    body = b"DIRC" + struct.pack(">II", version, len(entries) if count is None else count)
    body += b"".join(entries) + more
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def packed(*names: bytes) -> bytes:
    """Write an index of version 4: what each name has in common with the one before is left out."""
    entries, last = [], b""
    for name in names:
        common = next((at for at, one in enumerate(last) if name[at : at + 1] != bytes([one])), len(last))
        entries.append(
            struct.pack(">24xI12x20xHB", FILE, len(name), len(last) - common) + name[common:] + b"\0"
        )
        last = name
    return index(*entries, version=4)


ILL = [
    b"/etc/passwd", b"../x", b"a/../b", b"..", b".", b"./a", b"a/.", b"a//b", b"a/", b".git", b".git/hooks/x",
    b"a/.git/config", b".GIT/x", b".giT", b"git~1/hooks/x", b"GIT~1", b".git./x", b".git  /x", b".git::$DATA",
    b"a\\.git\\hooks\\x", b"a\\git~1", b".g\xe2\x80\x8cit/x", b"\xef\xbb\xbf.git/x",
    b".gi\xe2\x81\xaat\xe2\x80\xae", b".\xe2\x80\x8dGit",
]  # fmt: skip
WELL = [
    b"a", b"...", b".gitignore", b".github/x", b"git", b"a.git/x", b"x.git", b"git~10", b"a b/c", b"\xc3\xa9",
    b"~", b".git-x/y", b"..a", b"a..b/..c", b"g\xe2\x80\x8cit", b"x" * 5000, b"a\nb", b"\\a",
]  # fmt: skip


@pytest.mark.parametrize("name", ILL)
def test_a_name_that_git_would_not_add_is_found(name: bytes) -> None:
    assert not is_sound(index(entry(name)))
    assert not is_sound(packed(name))
    assert not is_sound(index(*sorted([entry(b"!"), entry(name), entry(b"\xff")], key=lambda one: one[62:])))


@pytest.mark.parametrize("name", WELL)
def test_other_names_are_sound(name: bytes) -> None:
    assert is_sound(index(entry(name)))
    assert is_sound(packed(name)) or len(name) > 0xFFF


def test_what_is_behind_thousands_of_names_is_found() -> None:
    names = [b"a/%05d" % number for number in range(9000)]
    assert is_sound(index(*map(entry, names)))
    assert is_sound(packed(*names))
    assert not is_sound(packed(*names, b"a/../../x"))
    assert not is_sound(index(entry(b"a", LINK), *map(entry, names)))
    assert not is_sound(index(entry(b"a", LINK), entry(b"a-b"), entry(b"a/b")))
    assert is_sound(index(entry(b"a", LINK, stage=2), entry(b"a/b")))
    assert is_sound(index(entry(b"a", LINK), entry(b"a-b"), entry(b"ab/b")))


def test_gitmodules_is_no_link() -> None:
    assert is_sound(index(entry(b".gitmodules")))
    assert not is_sound(index(entry(b".gitmodules", LINK)))


def test_a_folder_of_a_sparse_index_ends_in_a_slash() -> None:
    assert is_sound(index(entry(b"a/", FOLDER)))
    assert not is_sound(index(entry(b"a//", FOLDER)))
    assert not is_sound(index(entry(b".git/", FOLDER)))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"DIRC", index(entry(b"a"), version=5), index(entry(b"a"), version=1),
        index(entry(b"a"), count=2), index(entry(b"a"), count=1 << 31), index(entry(b"b"), entry(b"a")),
        index(entry(b"")),
        index(entry(b"a\0b")), index(entry(b"a"))[:-25], index(entry(b"a"), more=b"TREE\0\0\1\0"),
        index(struct.pack(">24xI12x20xHB", FILE, 1, 9) + b"a\0", version=4),
        index(struct.pack(">24xI12x20xH", FILE, 1) + b"\xff" * 60 + b"a\0", version=4),
    ],
)  # fmt: skip
def test_what_git_would_not_write_is_not_sound(data: bytes) -> None:
    assert not is_sound(data)


def threaded(offset: int, count: int, *, more: int = 0) -> bytes:
    """Make an index whose entries git reads with threads, from an offset that it is told."""
    hidden = entry(b"../x")
    table = struct.pack(">4sIIII", b"IEOT", 12, 1, offset, count)
    end = struct.pack(">4sII", b"EOIE", 24, 12 + len(entry(b"a")) + more) + bytes(20)
    return index(entry(b"a"), more=b"ZZZZ" + struct.pack(">I", len(hidden)) + hidden + table + end)


def test_entries_that_git_alone_would_find_are_not_sound() -> None:
    assert is_sound(threaded(12, 1))
    assert not is_sound(threaded(12 + len(entry(b"a")) + 8, 1))
    assert not is_sound(threaded(12, 2))
    assert not is_sound(threaded(12, 1, more=8))


def test_names_of_a_repository_of_sha256_are_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "a").write_text("x")
    git(tmp_path, "add", "a")
    data = (tmp_path / ".git" / "index").read_bytes()
    assert is_sound(data, 32)
    assert not is_sound(data)
    assert not is_sound(index(entry(b"../a", size=32)) + bytes(12), 32)


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_git_writes_is_sound(tmp_path: Path, version: str, threads: str) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "index.threads", threads)
    for number in range(300):
        path = tmp_path / f"{number % 7}" / ("x" * (number % 200)) / f"{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "link").symlink_to("x")
    git(tmp_path, "add", ".")
    (tmp_path / "later").write_text("")
    git(tmp_path, "add", "-N", "later")
    git(tmp_path, "update-index", "--index-version", version)
    git(tmp_path, "update-index", "--untracked-cache")
    assert is_sound((tmp_path / ".git" / "index").read_bytes())


def test_a_split_index_and_a_sparse_one_are_sound(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("a", "b", "in/c", "out/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "x")
    git(tmp_path, "update-index", "--split-index")
    (tmp_path / "a").write_text("y")
    git(tmp_path, "add", "a")
    found = [*tmp_path.glob(".git/sharedindex.*"), tmp_path / ".git" / "index"]
    assert len(found) == 2
    assert [path for path in found if not is_sound(path.read_bytes())] == []
    git(tmp_path, "update-index", "--no-split-index")
    git(tmp_path, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    data = (tmp_path / ".git" / "index").read_bytes()
    assert b"out/\0" in data
    assert is_sound(data)


def test_no_cut_or_changed_index_ends_in_another_error() -> None:
    data = packed(b"a", b"a/b", b"c") + threaded(12, 1)
    for whole in (packed(b"a", b"ab", b"c"), threaded(12, 1), data):
        for at in range(len(whole)):
            is_sound(whole[:at])
            is_sound(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    assert indexes.MAX_INDEX > 0
