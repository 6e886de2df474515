"""What a run left in a directory is set back; what changed since, and what lies outside, is not touched."""

import os
import stat
from pathlib import Path

import pytest
from blake3 import blake3

from hark.bundle.events import FileResult
from hark.snapshot.rewind import Rewound, rewind

FILE = stat.S_IFREG | 0o644


def made(path: str, content: bytes, mode: int = FILE) -> FileResult:
    return FileResult(path, mode, blake3(content).digest())


def tree(root: Path, **files: bytes) -> Path:
    root.mkdir(exist_ok=True)
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def rewound(
    root: Path, *results: FileResult, before: Path | None = None, left_out: frozenset[str] = frozenset()
) -> Rewound:
    entries = {"kept": bytes(32), "sub/kept": bytes(32)}
    return rewind(results, entries, left_out, str(root), lambda: None if before is None else str(before))


def test_what_the_run_made_is_taken_away_with_the_folders_that_it_made(tmp_path: Path) -> None:
    root = tree(tmp_path / "copy", out=b"o", deep__er__out=b"d", sub__kept=b"k", sub__out=b"s")
    found = rewound(root, made("deep/er/out", b"d"), made("out", b"o"), made("sub/out", b"s"))
    assert found == Rewound(["deep/er/out", "out", "sub/out"], [])
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == ["sub", "sub/kept"]


@pytest.mark.attack
@pytest.mark.parametrize(
    "result",
    [
        made("out", b"another"),
        made("out", b"o", stat.S_IFLNK | 0o777),
        made("../beside", b"b"),
        made("/etc/passwd", b"o"),
        made("link/beside", b"b"),
        FileResult("out", 0, b""),
    ],
)
def test_what_is_not_as_the_run_left_it_stays(tmp_path: Path, result: FileResult) -> None:
    root = tree(tmp_path / "copy", out=b"o")
    tree(tmp_path, beside=b"b")
    (root / "link").symlink_to(tmp_path)
    assert rewound(root, result) == Rewound([], [])
    assert (root / "out").read_bytes() == b"o"
    assert (tmp_path / "beside").exists()
    assert rewound(root, made("out", b"o")).done == ["out"], "the control"


def test_what_was_left_out_of_the_record_may_have_been_there(tmp_path: Path) -> None:
    root = tree(tmp_path / "copy", out=b"o")
    assert rewound(root, made("out", b"o"), left_out=frozenset({"out"})) == Rewound([], [])
    assert (root / "out").exists()


def test_what_the_run_changed_or_removed_is_brought_back_from_the_bundle(tmp_path: Path) -> None:
    root = tree(tmp_path / "copy", kept=b"after")
    before = tree(tmp_path / "before", kept=b"before", sub__kept=b"removed")
    os.chmod(before / "kept", 0o750)
    os.utime(before / "kept", ns=(5, 7_000_000_000))
    results = [made("kept", b"after"), FileResult("sub/kept", 0, b"")]
    assert rewound(root, *results) == Rewound([], ["kept", "sub/kept"]), "the control: nobody has them"
    assert rewound(root, *results, before=before) == Rewound(["kept", "sub/kept"], [])
    assert (root / "kept").read_bytes() == b"before"
    assert ((root / "kept").stat().st_mode & 0o777, (root / "kept").stat().st_mtime) == (0o750, 7)
    assert (root / "sub/kept").read_bytes() == b"removed"


def test_a_link_is_brought_back_as_a_link(tmp_path: Path) -> None:
    root, before = tree(tmp_path / "copy"), tree(tmp_path / "before")
    (root / "kept").symlink_to("after")
    (before / "kept").symlink_to("/nowhere")
    assert rewound(root, made("kept", b"after", stat.S_IFLNK | 0o777), before=before).done == ["kept"]
    assert os.readlink(root / "kept") == "/nowhere"


def test_a_folder_that_was_there_stays_where_the_bundle_says_so(tmp_path: Path) -> None:
    before = tree(tmp_path / "before")
    (before / "deep").mkdir()
    root = tree(tmp_path / "copy", deep__er__out=b"d")
    rewound(root, made("deep/er/out", b"d"), before=before)
    assert os.listdir(root) == ["deep"]
    assert os.listdir(root / "deep") == []
