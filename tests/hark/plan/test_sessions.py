"""What git itself writes of an operation that was begun is taken for that, and nothing else."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hark.plan.sessions import FILES, SESSIONS
from hark.plan.unfinished import ill

ID = "0123456789abcdef" * 2 + "01234567"

GITS = [
    ("rebase-merge", "strategy", "ort\n"),
    (
        "rebase-merge",
        "strategy_opts",
        " --theirs --subtree=a/b --find-renames=50% --diff-algorithm=minimal\n",
    ),
    ("rebase-merge", "strategy_opts", " '--ours' \"--no-renames\"\n"),
    ("rebase-merge", "strategy_opts", "\n"),
    ("rebase-merge", "head-name", "refs/heads/a/b\n"),
    ("rebase-merge", "head-name", "detached HEAD\n"),
    ("rebase-merge", "gpg_sign_opt", "-SAnn <ann@example>\n"),
    ("rebase-merge", "refs-to-delete", "refs/rewritten/onto\nrefs/rewritten/x\n"),
    ("rebase-merge", "update-refs", f"refs/heads/x\n{ID}\n{ID}\n"),
    ("rebase-merge", "rewritten-list", f"{ID} {ID}\n{ID} {ID}\n"),
    ("rebase-merge", "message", "any: 'text\n"),
    ("rebase-apply", "apply-opt", " '-C2' '-p0' '--whitespace=fix' '--directory=a/b.c' '--exclude=*.x y'"),
    ("rebase-apply", "apply-opt", "\n"),
    (
        "rebase-apply",
        "author-script",
        "GIT_AUTHOR_NAME='O'\\''Brien'\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='x'\n",
    ),
    ("rebase-apply", "10001", "any mail"),
    ("sequencer", "opts", '[options]\n\tmainline = 1\n\tgpg-sign = "Ann <ann@example>"\n\tedit = true\n'),
    ("", "BISECT_NAMES", " 'a b' 'it'\\''s'\n"),
    ("", "BISECT_TERMS", "new\nold\n"),
]
NOT_GITS = [
    *(
        ("rebase-merge", "strategy", word)
        for word in ("file", "index", "one-file", "base", "tree", "x/../y", "")
    ),
    ("rebase-merge", "strategy_opts", " --index-output=/x\n"),
    ("rebase-merge", "strategy_opts", " '--subtree=a --index-output=/x'\n"),
    ("rebase-merge", "strategy_opts", " --theirs; touch x\n"),
    ("rebase-merge", "strategy_opts", " --theirs'\n"),
    ("rebase-merge", "head-name", "refs/heads/../../../x\n"),
    ("rebase-merge", "head-name", "x\n"),
    ("rebase-merge", "autostash", "--help\n"),
    ("rebase-merge", "onto", "-x\n"),
    ("rebase-merge", "gpg_sign_opt", "-S/key\n"),
    ("rebase-merge", "gpg_sign_opt", "-S$(touch x)\n"),
    ("rebase-merge", "author-script", "touch x\n"),
    ("rebase-merge", "refs-to-delete", "refs/heads/main\n"),
    ("rebase-merge", "update-refs", "refs/../../x\n"),
    ("rebase-merge", "rewritten-list", "x\n"),
    *(
        ("rebase-apply", "apply-opt", f" '{option}'")
        for option in (
            *("--build-fake-ancestor=/x", "--unsafe-paths", "--index", "--stat", "--reject", "-R"),
            *("--directory=/x", "--directory=a/../../x", "-C2' '--unsafe-paths", "-Cx", "/x"),
        )
    ),
    ("rebase-apply", "apply-opt", " '-C2' $(touch x)"),
    ("rebase-apply", "apply-opt", " -C2"),
    (
        "rebase-apply",
        "author-script",
        "GIT_AUTHOR_NAME='x' y\nGIT_AUTHOR_EMAIL=''\nGIT_AUTHOR_DATE=''\n",
    ),
    ("sequencer", "opts", "[options]\n\tstrategy = file\n"),
    ("sequencer", "opts", "[options]\n\tstrategy-option = index-output=/x\n"),
    ("sequencer", "opts", "[options]\n\tmore = x\n"),
    ("sequencer", "opts", "[include]\n\tpath = x\n"),
    ("", "BISECT_NAMES", "'a'; touch x\n"),
    ("", "BISECT_TERMS", "new\n$(touch x)\n"),
    ("", "BISECT_START", "--orphan=x\n"),
    ("", "BISECT_EXPECTED_REV", "-x\n"),
]


def is_gits(session: str, name: str, text: str) -> bool:
    form = SESSIONS[session](name) if session else FILES[name]
    return form is not None and form(text)


@pytest.mark.parametrize(("session", "name", "text"), GITS)
def test_a_text_that_git_writes_is_gits(session: str, name: str, text: str) -> None:
    assert is_gits(session, name, text)


@pytest.mark.parametrize(("session", "name", "text"), NOT_GITS)
def test_another_text_is_not(session: str, name: str, text: str) -> None:
    assert not is_gits(session, name, text)


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("name", ["x", "001", "git-rebase-todo~", "config", "hooks"])
def test_a_name_that_git_does_not_make_is_not(session: str, name: str) -> None:
    assert SESSIONS[session](name) is None


Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "true",
    }
    env |= {"GIT_SEQUENCE_EDITOR": "sed -i '1ilabel here' "}

    def run(*words: str) -> str:
        told = ["git", "-c", "user.name=O'Brien", "-c", "user.email=ann@example", *words]
        done = subprocess.run(told, cwd=tmp_path, env=env, check=False, capture_output=True, text=True)
        return done.stdout + done.stderr

    run("init", "-q", "-b", "main")
    for branch, text in (("main", "1"), ("main", "2"), ("other", "3"), ("other", "4"), ("other", "5")):
        if branch == "other" and text == "3":
            run("checkout", "-q", "-b", "other", "main~1")
        (tmp_path / "file").write_text(text)
        run("add", "file")
        run("commit", "-q", "-m", text)
    run("notes", "add", "-m", "here", "main")
    run("notes", "--ref", "more", "add", "-m", "there", "main")
    return run


BEGUN = [
    ("rebase -X theirs -X subtree main~1 -x false", "", "git-rebase-todo"),
    ("rebase --merge -s resolve --signoff --rerere-autoupdate main", "rebase-merge", ""),
    ("rebase -i --rebase-merges --update-refs -X patience -X find-renames=50% main", "rebase-merge", ""),
    ("rebase -i --committer-date-is-author-date --empty=drop --autostash main", "rebase-merge", ""),
    ("rebase --apply -C2 --whitespace=fix --ignore-whitespace main", "rebase-apply", ""),
    ("am --3way -C1 --whitespace=nowarn --exclude=x --directory=a/b ../mail", "rebase-apply", ""),
    ("cherry-pick -x -X ours -X subtree=a --strategy=ort -m1 main other", "", ""),
    ("cherry-pick -x -X patience --strategy=resolve other~1 other~2 other", "sequencer", ""),
    ("revert --no-edit other~2 other~1", "sequencer", ""),
    ("bisect start --term-new=worse --term-old=better other other~3 -- file", "", ""),
    ("notes merge more", "NOTES_MERGE_WORKTREE", ""),
    ("merge --autostash main", "", ""),
]


@pytest.mark.parametrize(("words", "session", "cause"), BEGUN)
def test_what_git_itself_begins_stays_but_for_commands(
    git: Git, tmp_path: Path, words: str, session: str, cause: str
) -> None:
    (tmp_path.parent / "mail").write_text(git("format-patch", "--stdout", "-1", "other"))
    (tmp_path / "file").write_text("not committed" if "autostash" in words else "5")
    said = git(*words.split())
    assert not session or (tmp_path / ".git" / session).is_dir(), said
    found = [os.path.basename(one.cause) for one in ill(str(tmp_path / ".git"))]
    assert found == ([cause] if cause else []), said
