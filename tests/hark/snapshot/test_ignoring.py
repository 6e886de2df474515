"""What git ignores, against git itself."""

import subprocess
import time
from pathlib import Path

import pytest

from hark.snapshot import ignoring
from hark.snapshot.ignoring import Patterns, Rules, TooMuchError

ROOT = (
    b"*.log\n!keep.log\n/build/\nnode_modules\n# comment\n\\#odd\na/**/z\n[z\n   \n*.\xff\nd/e\r\n\\!x\nq?\n"
    b"trail \n"
)
BELOW = b"!x.log\nout\n"
PATHS = [
    *(b"a.log", b"keep.log", b"d/a.log", b"d/keep.log", b"node_modules/x", b"d/node_modules/x", b"build/x"),
    *(b"d/build/x", b"#odd", b"a/b/c/z", b"a/z", b"sub/x.log", b"sub/y.log", b"sub/out", b"out", b"w.\xff"),
    *(b"w\xfe", b"d/e", b"!x", b"qq", b"q", b"trail", b"[z", b"sub/deep/x.log"),
]


def said(rules: Rules, path: bytes) -> bool:
    parts = path.split(b"/")
    above = [b"/".join(parts[:end]) for end in range(1, len(parts))]
    return any(rules.why(one, folder=True) for one in above) or rules.why(path, folder=False) is not None


def test_git_says_the_same(tmp_path: Path):
    def git(*words: str, given: bytes = b"") -> bytes:
        quiet = ("-c", "core.excludesFile=/dev/null")
        command = ["git", *quiet, "-C", tmp_path, *words]
        return subprocess.run(command, capture_output=True, input=given, check=True).stdout

    git("init", "-q", ".")
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_bytes(ROOT)
    (tmp_path / "sub/.gitignore").write_bytes(BELOW)
    (tmp_path / ".git/info/exclude").write_bytes(b"*.tmp\n")
    rules = Rules()
    rules.read(b"", ROOT)
    rules.read(b"sub", BELOW)
    rules.read_general(b"*.tmp\n")
    paths = [*PATHS, b"x.tmp", b"sub/x.tmp"]
    answer = git("check-ignore", "-z", "--no-index", "--stdin", given=b"\0".join(paths) + b"\0")
    ignored = set(answer.split(b"\0")) - {b""}
    assert 5 < len(ignored) < len(paths)
    assert {path for path in paths if said(rules, path)} == ignored


def test_the_policys_patterns_are_told_apart_and_no_gitignore_takes_them_back():
    rules = Rules(("*.bin", "data/"))
    rules.read(b"", b"!*.bin\n")
    assert rules.why(b"x.bin", folder=False) == "excluded by the policy"
    assert rules.why(b"data", folder=True) == "excluded by the policy"
    assert rules.why(b"data", folder=False) is None


def test_without_patterns_nothing_is_asked():
    assert Rules().why(b"a", folder=False) is None


@pytest.mark.parametrize("pattern", [b"*a" * 60 + b"b", b"**/" * 60 + b"b", b"[a-" + b"a*" * 80])
def test_no_pattern_takes_long(pattern: bytes):
    """An earlier agent may have written it; Python's own expressions would take years for the first."""
    began = time.process_time()
    Patterns([pattern]).says(b"a" * 250)
    assert time.process_time() - began < 5


MANY = b"".join(b"%x*\n" % number for number in range(1 << 24, (1 << 24) + 10_000))


def test_patterns_that_cannot_be_compiled_together_match_nothing_and_are_named():
    rules = Rules()
    rules.read(b"a", MANY)
    rules.read(b"b", MANY[: MANY.index(b"\n", 9_000) + 1])  # some thousand, in the same tree
    assert rules.passed_over == [b"a/.gitignore"]
    assert rules.why(b"a/1000000x", folder=False) is None
    assert rules.why(b"b/1000000x", folder=False) == "ignored by git"


@pytest.mark.parametrize(
    ("bound", "text"), [("MAX_RULES", b"x" * 60), ("MAX_PATTERNS", b"x\n" * 6), ("MAX_PATTERNS", b"\nx" * 6)]
)
def test_what_lies_beyond_the_sum_of_a_tree_matches_nothing_and_is_named(
    monkeypatch, bound: str, text: bytes
):
    monkeypatch.setattr(ignoring, bound, {"MAX_RULES": 100, "MAX_PATTERNS": 10}[bound])
    rules = Rules()
    rules.read_general(text + b"\n*.tmp\n")
    rules.read(b"", text)
    rules.read(b"sub", b"*.log\n")
    assert rules.passed_over == [b".gitignore"]
    assert rules.why(b"a.tmp", folder=False) == rules.why(b"sub/a.log", folder=False) == "ignored by git"
    assert rules.why(b"x", folder=False) == (None if bound == "MAX_RULES" else "ignored by git")


def test_patterns_of_the_policys_that_cannot_be_compiled_are_an_error():
    with pytest.raises(TooMuchError, match="RE2"):
        Rules(tuple(MANY.decode().split()))
