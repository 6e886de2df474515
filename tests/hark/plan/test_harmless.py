"""Configuration that git itself writes is harmless; what names a program or another file is not."""

import subprocess

import pytest

from hark.plan.harmless import is_harmless, worktrees

WRITTEN = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tworktree = ../../../sub
[remote "origin"] ; where it came from
\turl = https://github.com/acme/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
[submodule "deep/a \\"b\\""]
\tactive = true
\turl = git@github.com:acme/b.git
\tupdate = rebase
# a note
[User] Name = A B
"""


def test_what_git_writes_is_harmless() -> None:
    assert is_harmless(WRITTEN)
    assert is_harmless("")


def test_what_a_clone_a_submodule_and_a_worktree_have_is_harmless(tmp_path) -> None:
    def git(*words, cwd=tmp_path):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True)

    git("init", "-q", "-b", "main", "a")
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=tmp_path / "a")
    git("clone", "-q", "a", "b")
    git("submodule", "add", "-q", str(tmp_path / "a"), "sub", cwd=tmp_path / "b")
    git("worktree", "add", "-q", "../c", cwd=tmp_path / "a")
    git("clone", "-q", "--bare", "a", "d.git")
    found = [*tmp_path.rglob("config"), *tmp_path.rglob("config.worktree")]
    assert len(found) == 4
    assert [path for path in found if not is_harmless(path.read_text())] == []


@pytest.mark.parametrize(
    "text",
    [
        "[core]\nfsmonitor = touch ran",
        "[core] fsmonitor = touch ran",
        "[CORE]\n\tFSMonitor=touch ran",
        "[core]\nhooksPath = .",
        "[core]\nsshCommand = sh",
        "[core]\npager = sh",
        "[core]\nattributesFile = x",
        "[core]\nworktree = ../..;x",
        '[branch "main"]\nremote = ext::sh -c ran',
        '[branch "main"]\npushRemote = -x',
        "[core]\nworktree = ../../ # x",
        "[core]\nworktree = ..\t..",
        '[core]\nworktree = ".."/x',
        "[extensions]\nrefStorage = files:///tmp/refs",
        "[include]\npath = x",
        '[includeIf "gitdir:/"]\npath = x',
        "[alias]\nst = !sh",
        '[filter "x"]\nclean = sh',
        '[diff "x"]\ntextconv = sh',
        "[credential]\nhelper = !sh",
        '[url "ext::sh -c x"]\ninsteadOf = https://',
        "[http]\nproxy = evil",
        '[remote "o"]\nurl = ext::sh -c touch% ran',
        '[remote "o"]\nurl = --upload-pack=sh',
        '[remote "o"]\nuploadpack = sh',
        '[remote "o"]\nurl = a\\\nb',
        '[remote "o"]\nvcs = x',
        '[submodule "s"]\nupdate = !sh',
        "[core]\nbare = false \\\n[core]\nfsmonitor = x",
        '[core]\nabbrev = "1\nfsmonitor = x"',
        "[core]\nabbrev = 1\0",
        "nothing of the kind",
        "[unclosed",
        '[core "x"]\nfsmonitor = x',
        "[gpg]\nprogram = sh",
        "[merge]\ntool = x",
        "\0",
    ],
)
def test_what_may_name_a_program_is_not(text: str) -> None:
    assert not is_harmless(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (WRITTEN, ["../../../sub"]),
        ('\ufeff[core] worktree=a b \r\n[Core]\n\tWorkTree = "c#; " ', ["a b", "c#; "]),
        ('[submodule "x"]\nworktree = no', []),
    ],
)
def test_the_work_tree_is_read_as_git_reads_it(text: str, named: list[str]) -> None:
    assert worktrees(text) == named
