"""What git would go on with runs nothing, or is found."""

import os
import subprocess
from pathlib import Path

import pytest

from hark.plan.sessions import SESSIONS
from hark.plan.unfinished import ill, strayed

TODO, OPTS = "rebase-merge/git-rebase-todo", "sequencer/opts"

HARMLESS = [
    ("HEAD", "ref: refs/heads/main\n"),
    ("HEAD", "ref: refs/heads/a.b/c-d_e@f\n"),
    ("HEAD", f"{'0123456789' * 4}\n"),
    ("ORIG_HEAD", f"{'a' * 64}\n"),
    ("refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n"),
    ("refs/heads/a/b", f"{'a' * 40}\n"),
    (TODO, ""),
    (TODO, "pick 1234567 a change\nf 89abcde\nlabel x\nmerge -C 12 x # y\n\n# exec in a comment\n"),
    (TODO, "; another sign for comments\n  pick 1\n\tnoop\n"),
    (OPTS, "[options]\n\tno-commit = true\n\tstrategy = recursive\n\tstrategy-option = theirs\n"),
]
ILL = [
    ("HEAD", "ref: refs/heads/../../../../home/.bashrc\n"),
    ("HEAD", "ref: ../../home/.bashrc\n"),
    ("HEAD", "ref: /home/.bashrc\n"),
    ("HEAD", "ref: refs/heads/.hidden\n"),
    ("HEAD", "ref: refs/heads//x\n"),
    ("HEAD", ""),
    ("HEAD", "main\n"),
    ("ORIG_HEAD", "ref: refs/../../x\n"),
    ("refs/heads/a/b", "ref: refs/heads/../../../x\n"),
    ("MERGE_RR", f"{'a' * 40}\t../../home/.ssh/id_rsa\0"),
    (TODO, "pick 1\nexec touch ran\n"),
    (TODO, "  x\ttouch ran"),
    (TODO, "later-command x\n"),
    (TODO, "pick 1\0"),
    ("rebase-merge/strategy", "file\n"),
    ("rebase-merge/of-no-git", ""),
    ("rebase-apply/apply-opt", " '--build-fake-ancestor=x'"),
    ("NOTES_MERGE_REF", "ref: refs/../../x\n"),
    ("NOTES_MERGE_WORKTREE/x", "x"),
    ("MERGE_AUTOSTASH", "--help\n"),
    ("BISECT_START", "--pathspec-from-file=x\n"),
    (OPTS, "[options]\n\tstrategy = x/../program\n"),
    (OPTS, '[options] strategy = "x/../program"\n'),
    (OPTS, "[options]\n\tstrategy = \\x\n\ty = \\\n"),
]


def left(git: Path, name: str, text: str) -> list[str]:
    (git / name).parent.mkdir(parents=True, exist_ok=True)
    (git / name).write_text(text)
    return [one.path for one in ill(str(git))] + list(strayed(str(git)))


@pytest.mark.parametrize(("name", "text"), HARMLESS)
def test_what_git_writes_without_programs_is_harmless(tmp_path: Path, name: str, text: str) -> None:
    assert left(tmp_path, name, text) == []


@pytest.mark.parametrize(("name", "text"), ILL)
def test_what_may_run_a_program_or_write_anywhere_is_found(tmp_path: Path, name: str, text: str) -> None:
    session = name.partition("/")[0] if name.partition("/")[0] in SESSIONS else name
    assert left(tmp_path, name, text) == [f"{tmp_path}/{session}"]


@pytest.mark.parametrize("name", [*SESSIONS, "sequencer/opts", "rebase-merge/done", "rebase-apply/0001"])
def test_a_link_is_found(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to("x")
    found = [(one.path, one.cause) for one in ill(str(tmp_path))]
    assert found == [(f"{tmp_path}/{name.partition('/')[0]}", f"{tmp_path}/{name}")]


@pytest.mark.parametrize("name", SESSIONS)
def test_what_cannot_be_read_or_is_no_folder_is_found(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    assert [one.path for one in ill(str(tmp_path))] == [f"{tmp_path}/{name}"]


@pytest.mark.parametrize("kind", ["resolved", "branch"])
def test_what_is_found_has_git_read_or_write_outside_of_the_repository(tmp_path: Path, kind: str) -> None:
    """The control of the above: git itself, which is told nothing of it."""
    tree, outside = tmp_path / "tree", tmp_path / "key"
    outside.write_text("<<<<<<<\na\n=======\nb\n>>>>>>>\n")
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> None:
        told = ["git", "-c", "user.name=ann", "-c", "user.email=ann@example", *words]
        subprocess.run(told, cwd=tree, env=env, check=True, capture_output=True)

    tree.mkdir()
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    if kind == "branch":
        (tree / ".git/HEAD").write_text("ref: refs/heads/../../../written\n")
        assert [one.path for one in ill(str(tree / ".git"))] == [f"{tree}/.git/HEAD"]
        git("commit", "-q", "--allow-empty", "-m", "second")
        assert (tree / "written").exists()
        return
    preimage = tree / ".git/rr-cache" / ("a" * 40) / "preimage"
    preimage.parent.mkdir(parents=True)
    preimage.write_text("<<<<<<<\na\n=======\nb\n>>>>>>>\n")
    outside.write_text("a private key\n")
    (tree / ".git/MERGE_RR").write_text(f"{'a' * 40}\t../key\0")
    assert [one.path for one in ill(str(tree / ".git"))] == [f"{tree}/.git/MERGE_RR"]
    git("commit", "-q", "--allow-empty", "-m", "second")
    assert (preimage.parent / "postimage").read_text() == "a private key\n"
