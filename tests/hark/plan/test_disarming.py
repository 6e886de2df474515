"""The attack: git run later in the project runs nothing that an agent left there. By git itself."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hark.plan.disarming import ASIDE, disarm
from hark.plan.project import survey
from hark.running.left import made_in

WHO = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "protocol.file.allow=always")
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = touch {ran}; false\n"


def git(cwd: Path, *words: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"HOME": "/nonexistent", "GIT_EDITOR": "true"}
    done = subprocess.run(
        ["git", *WHO, *words], cwd=cwd, capture_output=True, text=True, env=env, check=False
    )
    return done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "file").write_text("x")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "x")
    return project


def hook(folder: Path, ran: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (folder / name).chmod(0o755)


def evil(folder: Path, ran: Path) -> Path:
    """Make a repository whose configuration runs something at `git status`."""
    git(folder.parent, "init", "-q", str(folder))
    (folder / ".git" / "config").write_text(CONFIG.format(ran=ran))
    return folder / ".git"


def commondir(tree: Path, ran: Path) -> Path:
    evil(tree / "build", ran)
    (tree / ".git" / "commondir").write_text("../build/.git\n")
    return tree


def new_repository(tree: Path, ran: Path) -> Path:
    evil(tree / "src", ran)
    return tree / "src"


def new_hooks(tree: Path, ran: Path) -> Path:
    git(tree, "init", "-q", "other")
    hook(tree / "other" / ".git" / "hooks", ran)
    return tree / "other"


def a_file_that_leads_below_git(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / ".git" / "deep")
    (tree / "src" / ".git").write_text("gitdir: ../.git/deep\n")
    return tree / "src"


def a_link(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / "plain")
    (tree / "src" / ".git").symlink_to("../plain")
    return tree / "src"


def a_link_to_a_file(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / ".git" / "objects" / "evil")
    (tree / "way").write_text(f"gitdir: {tree}/.git/objects/evil\n")
    (tree / "src" / ".git").symlink_to("../way")
    return tree / "src"


def a_way_over_two_lines(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / ".git" / "objects" / "a\nb")
    (tree / "src" / ".git").write_text("gitdir: ../.git/objects/a\nb\n")
    return tree / "src"


def a_way_that_ends_early(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / ".git" / "objects" / "evil")
    (tree / "src" / ".git").write_bytes(b"gitdir: ../.git/objects/evil\0/more\n")
    return tree / "src"


def names_that_are_taken(tree: Path, ran: Path) -> Path:
    config = evil(tree / "src", ran) / "config"
    for number in range(200):
        config.with_name(f"config{ASIDE}{f'-{number}' if number else ''}").write_text("")
    return tree / "src"


def beside_a_commondir_that_is_no_text(tree: Path, ran: Path) -> Path:
    git(tree, "init", "-q", "other")
    (tree / "other" / ".git" / "commondir").symlink_to("x")
    (tree / ".git" / "worktrees" / "w").mkdir(parents=True)
    (tree / ".git" / "worktrees" / "w" / "commondir").write_bytes(b"x\0y")
    evil(tree / "src", ran)
    return tree / "src"


def a_module(tree: Path, ran: Path) -> Path:
    (tree / ".git" / "modules" / "a").mkdir(parents=True)
    os.rename(evil(tree / "x", ran), tree / ".git" / "modules" / "a" / "b")
    (tree / "src" / ".git").write_text("gitdir: ../.git/modules/a/b\n")
    return tree / "src"


def a_worktree(tree: Path, ran: Path) -> Path:
    git(tree, "worktree", "add", "-q", "wt")
    (tree / ".git" / "worktrees" / "wt" / "commondir").write_text(f"{evil(tree / 'x', ran)}\n")
    return tree / "wt"


def bare(tree: Path, ran: Path) -> Path:
    git(tree, "init", "-q", "--bare", "repo")
    (tree / "repo" / "config").write_text(
        CONFIG.format(ran=ran).replace("bare = false", f"worktree = {tree}/src")
    )
    return tree / "repo"


def unlisted(tree: Path, ran: Path) -> Path:
    evil(tree / "src", ran)
    (tree / "src").chmod(0o311)
    return tree / "src"


def unwritable(tree: Path, ran: Path) -> Path:
    evil(tree / "src", ran).chmod(0o555)
    return tree / "src"


def through_proc(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / ".git" / "objects" / "evil")
    (tree / "src" / ".git").write_text("gitdir: /proc/self/cwd/../.git/objects/evil\n")
    return tree / "src"


def through_a_link(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / ".git" / "objects" / "evil")
    (tree / "way").symlink_to("/proc/self/cwd/..")
    (tree / "src" / ".git").write_text("gitdir: ../way/.git/objects/evil\n")
    return tree / "src"


def a_link_to_below_git(tree: Path, ran: Path) -> Path:
    os.rename(evil(tree / "x", ran), tree / ".git" / "objects" / "evil")
    (tree / "other").symlink_to(".git/objects/evil")
    config = tree / ".git" / "objects" / "evil" / "config"
    config.write_text(CONFIG.format(ran=ran).replace("bare = false", f"worktree = {tree}/src"))
    return tree / "other"


def a_module_that_is_a_link(tree: Path, ran: Path) -> Path:
    (tree / ".git" / "modules").mkdir()
    (tree / ".git" / "modules" / "a").symlink_to("/proc/self/cwd/../x/.git")
    evil(tree / "x", ran)
    (tree / "src" / ".git").write_text("gitdir: ../.git/modules/a\n")
    return tree / "src"


def outside(tree: Path, ran: Path) -> Path:
    evil(tree.parent, ran)
    (tree / "src" / ".git").write_text("gitdir: ../../.git\n")
    return tree / "src"


PLANTED: list[Callable[[Path, Path], Path]] = [
    commondir, new_repository, new_hooks, a_file_that_leads_below_git, a_link, a_module, a_worktree, bare,
    unlisted, unwritable, a_link_to_a_file, a_way_over_two_lines, a_way_that_ends_early, names_that_are_taken,
    beside_a_commondir_that_is_no_text, through_proc, through_a_link, a_link_to_below_git,
    a_module_that_is_a_link, outside,
]  # fmt: skip


def ordinary(place: Path) -> None:
    git(place, "status")
    git(place, "commit", "-q", "--allow-empty", "-m", "later")
    git(place, "checkout", "-q", "-b", "later")


@pytest.mark.parametrize("safe", [True, False], ids=["disarmed", "control: as it was left"])
@pytest.mark.parametrize("plant", PLANTED)
def test_git_run_later_executes_nothing_that_was_planted(
    tree: Path, plant: Callable[[Path, Path], Path], safe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)  # where hark is run, and where paths through /proc lead it to
    surveyed = survey(str(tree), "/nowhere", (), ())
    ran = tree.parent / "ran"
    place = plant(tree, ran)
    if safe:
        ran.unlink(missing_ok=True)
        done = disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")
        assert done
        assert all(ASIDE in os.path.basename(one.now) and os.path.lexists(one.now) for one in done)
    ran.unlink(missing_ok=True)
    ordinary(place)
    ordinary(tree)
    assert ran.exists() is not safe


def linked(name: str) -> Callable[[Path, Path], None]:
    """Lay a link that git writes through."""

    def plant(tree: Path, written: Path) -> None:
        path = tree / ".git" / name
        path.unlink(missing_ok=True)
        path.symlink_to(written)

    return plant


def an_index(tree: Path, written: Path) -> None:
    blob = git(tree, "hash-object", "-w", "src/file").strip()
    git(tree, "update-index", "--add", "--cacheinfo", f"100644,{blob},aa/{written.name}")
    index = tree / ".git" / "index"
    index.write_bytes(index.read_bytes().replace(b"aa/", b"../"))


def a_shared_index(tree: Path, written: Path) -> None:
    blob = git(tree, "hash-object", "-w", "src/file").strip()
    git(tree, "update-index", "--add", "--cacheinfo", f"100644,{blob},aa/{written.name}")
    git(tree, "update-index", "--split-index")
    (shared,) = (tree / ".git").glob("sharedindex.*")
    shared.chmod(0o644)
    shared.write_bytes(shared.read_bytes().replace(b"aa/", b"../"))


def an_index_of_a_worktree(tree: Path, written: Path) -> None:
    git(tree, "worktree", "add", "-q", "wt")
    index = tree / ".git" / "worktrees" / "wt" / "index"
    blob = git(tree, "hash-object", "-w", "src/file").strip()
    git(tree / "wt", "update-index", "--add", "--cacheinfo", f"100644,{blob},aa/bb/{written.name}")
    index.write_bytes(index.read_bytes().replace(b"aa/bb/", b"../../"))


def a_remote(tree: Path, written: Path) -> None:
    git(tree, "init", "-q", "--bare", ".git/objects/evil")
    (tree / ".git" / "objects" / "evil" / "hooks" / "pre-receive").write_text(f"#!/bin/sh\ntouch {written}\n")
    (tree / ".git" / "objects" / "evil" / "hooks" / "pre-receive").chmod(0o755)
    (tree / ".git" / "remotes").mkdir()
    (tree / ".git" / "remotes" / "origin").write_text("URL: .git/objects/evil\n")


def a_rebase(tree: Path) -> None:
    git(tree, "checkout", "-q", "-b", "other")
    (tree / "other").write_text("x")
    git(tree, "add", "other")
    git(tree, "commit", "-q", "-m", "other")
    git(tree, "rebase", "-x", "false", "--force-rebase", "main")


def a_command_of_a_rebase(tree: Path, written: Path) -> None:
    a_rebase(tree)
    (tree / ".git" / "rebase-merge" / "git-rebase-todo").write_text(f"  exec touch {written}\n")


def a_strategy(tree: Path, written: Path) -> None:
    a_rebase(tree)
    program = tree / "program"
    program.write_text(f"#!/bin/sh\ntouch {written}\n")
    program.chmod(0o755)
    (tree / "git-merge-x").mkdir()
    commit = git(tree, "rev-parse", "HEAD").strip()
    git(tree, "checkout", "-q", "--detach", "main")
    (tree / "other").write_text("y")
    git(tree, "add", "other")
    git(tree, "commit", "-q", "-m", "y")
    (tree / ".git" / "rebase-merge" / "strategy").write_text("x/../program\n")
    (tree / ".git" / "rebase-merge" / "git-rebase-todo").write_text(f"pick {commit}\n")


def a_strategy_of_picks(tree: Path, written: Path) -> None:
    for number in range(3):
        (tree / "src" / "file").write_text(f"{number}")
        git(tree, "commit", "-q", "-a", "-m", f"{number}")
    git(tree, "checkout", "-q", "--detach", "main~3")
    git(tree, "cherry-pick", "main~1", "main")
    (tree / "src" / "file").write_text("1")
    git(tree, "add", "src/file")
    program = tree / "program"
    program.write_text(f"#!/bin/sh\ntouch {written}\n")
    program.chmod(0o755)
    (tree / "git-merge-x").mkdir()
    (tree / ".git" / "sequencer" / "opts").write_text("[options]\n\tstrategy = x/../program\n")


def an_option_of_a_script(tree: Path, written: Path) -> None:
    """The script for `resolve` takes any option for a base, and gives it to `git read-tree`."""
    a_rebase(tree)
    picked = git(tree, "rev-parse", "HEAD").strip()
    git(tree, "checkout", "-q", "--detach", "main")
    (tree / "third").write_text("y")
    git(tree, "add", "third")
    git(tree, "commit", "-q", "-m", "y")
    (tree / ".git" / "rebase-merge" / "strategy").write_text("resolve\n")
    (tree / ".git" / "rebase-merge" / "strategy_opts").write_text(f" --index-output={written}\n")
    (tree / ".git" / "rebase-merge" / "git-rebase-todo").write_text(f"pick {picked}\n")


def a_mailbox(tree: Path, written: Path) -> None:
    """What `git am` hands on to `git apply` may name a file that is written."""
    git(tree, "checkout", "-q", "-b", "other")
    for number in range(2):
        (tree / "src" / "file").write_text(f"{number}")
        git(tree, "commit", "-q", "-a", "-m", f"{number}")
    git(tree, "format-patch", "-q", "-o", "mails", "main")
    git(tree, "checkout", "-q", "main")
    (tree / "src" / "file").write_text("z")
    git(tree, "commit", "-q", "-a", "-m", "z")
    git(tree, "am", *sorted(f"mails/{path.name}" for path in (tree / "mails").iterdir()))
    (tree / ".git" / "rebase-apply" / "apply-opt").write_text(f" '--build-fake-ancestor={written}'")


def a_moved_session(tree: Path, written: Path) -> None:
    """The files of a folder keep their times where it is moved."""
    (tree / "old").rename(tree / ".git" / "rebase-merge")


def a_session_in_the_project(tree: Path, written: Path) -> None:
    a_command_of_a_rebase(tree, written)
    (tree / ".git" / "rebase-merge").rename(tree / "old")
    for path in ((tree / "old"), *(tree / "old").iterdir()):
        os.utime(path, (0, 0))
    time.sleep(1.1)  # file systems count time in steps: what changed within a second before counts as new


def a_way_to_a_worktree(tree: Path, written: Path) -> None:
    written.parent.mkdir(exist_ok=True)
    folder = tree / ".git" / "worktrees" / "w"
    folder.mkdir(parents=True)
    (folder / "commondir").write_text("../..\n")
    (folder / "HEAD").write_text("ref: refs/heads/w\n")
    (folder / "gitdir").write_text(f"{written}\n")


MISLEADING: list[tuple[Callable[[Path, Path], None], str]] = [
    (linked("logs/HEAD"), "checkout -q -b later"),
    (linked("logs/refs/heads/main"), "commit -q --allow-empty -m x"),
    (linked("FETCH_HEAD"), "fetch -q . main"),
    (linked("COMMIT_EDITMSG"), "commit -q --allow-empty -m x"),
    (linked("packed-refs"), "pack-refs --all"),
    (an_index, "restore ."),
    (a_shared_index, "restore ."),
    (an_index_of_a_worktree, "-C wt restore ."),
    (a_remote, "push -q origin main"),
    (a_command_of_a_rebase, "rebase --continue"),
    (a_strategy, "rebase --continue"),
    (a_strategy_of_picks, "cherry-pick --continue"),
    (an_option_of_a_script, "rebase --continue"),
    (a_mailbox, "am --skip"),
    (a_moved_session, "rebase --continue"),
    (a_way_to_a_worktree, "worktree repair"),
]


@pytest.mark.parametrize("safe", [True, False], ids=["disarmed", "control: as it was left"])
@pytest.mark.parametrize(("plant", "words"), MISLEADING)
def test_git_is_not_led_to_write_elsewhere_or_to_run_what_was_left(
    tree: Path, plant: Callable[[Path, Path], None], words: str, safe: bool
) -> None:
    written = tree.parent / ("there/.git" if plant is a_way_to_a_worktree else "written")
    if plant is a_moved_session:
        a_session_in_the_project(tree, written)
    surveyed = survey(str(tree), "/nowhere", (), ())
    plant(tree, written)
    assert not written.exists()
    if safe:
        assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")
    git(tree, *words.split())
    assert written.exists() is not safe


@pytest.mark.parametrize("safe", [True, False], ids=["disarmed", "control: as it was left"])
def test_no_strategy_is_a_program_that_takes_names_for_files(tree: Path, safe: bool) -> None:
    """`git merge-file` writes the first that it is given, which may be a link to any file."""
    kept = tree.parent / "kept"
    kept.write_text("mine")
    surveyed = survey(str(tree), "/nowhere", (), ())
    a_rebase(tree)
    (base,) = git(tree, "rev-parse", "HEAD").split()
    (tree / "more").write_text("x")
    git(tree, "add", "more")
    git(tree, "commit", "-q", "-m", "more")
    (picked,) = git(tree, "rev-parse", "HEAD").split()
    git(tree, "checkout", "-q", "--detach", "main")
    (tree / base).symlink_to(kept)
    (tree / git(tree, "rev-parse", "HEAD").strip()).write_text("")
    (tree / "HEAD").write_text("")
    (tree / picked).write_text("theirs")
    session = tree / ".git" / "rebase-merge"
    (session / "strategy").write_text("file\n")
    (session / "strategy_opts").write_text(" --theirs\n")
    (session / "git-rebase-todo").write_text(f"pick {picked}\n")
    if safe:
        found = {one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")}
        assert str(session) in found
    git(tree, "rebase", "--continue")
    assert kept.read_text() == ("mine" if safe else "theirs")


def test_what_was_there_and_has_not_changed_is_not_looked_at(tree: Path) -> None:
    an_index(tree, tree.parent / "written")
    a_way_to_a_worktree(tree, tree.parent / "there" / ".git")
    a_strategy(tree, tree.parent / "written")
    surveyed = survey(str(tree), "/nowhere", (), ())
    assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere") == []


@pytest.mark.parametrize("setting", ["core.x=y", "alias.x=!true", 'alias.x="a \\ b"'])
def test_an_index_of_a_repository_of_sha256_stays_whatever_its_configuration_holds(
    tmp_path: Path, setting: str
) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "there")
    git(tmp_path / "there", "config", *setting.split("=", 1))
    surveyed = survey(str(tmp_path / "there"), "/nowhere", (), ())
    for name in ("there", "there/made"):
        git(tmp_path, "init", "-q", "--object-format=sha256", name)
        (tmp_path / name / "file").write_text("x")
        git(tmp_path / name, "add", "file")
        git(tmp_path / name, "commit", "-q", "-m", "x")
    assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere") == []
    assert "file" in git(tmp_path / "there", "ls-files")
    blob = git(tmp_path / "there", "hash-object", "-w", "file").strip()
    git(tmp_path / "there", "update-index", "--add", "--cacheinfo", f"100644,{blob},aa/x")
    index = tmp_path / "there" / ".git" / "index"
    index.write_bytes(index.read_bytes().replace(b"aa/", b"../"))
    found = [one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")]
    assert found == [str(index)]


def test_an_index_that_builds_on_one_that_is_put_aside_is_put_aside_too(tree: Path) -> None:
    surveyed = survey(str(tree), "/nowhere", (), ())
    a_shared_index(tree, tree.parent / "written")
    found = {
        os.path.basename(one.path) for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")
    }
    assert {name.partition(".")[0] for name in found} == {"index", "sharedindex"}
    git(tree, "reset", "-q")
    assert "src/file" in git(tree, "ls-files")


def test_an_operation_that_was_begun_inside_can_be_gone_on_with(tree: Path) -> None:
    surveyed = survey(str(tree), "/nowhere", (), ())
    (tree / "src" / "file").write_text("1")
    git(tree, "commit", "-q", "-a", "-m", "1")
    git(tree, "checkout", "-q", "-b", "other", "main~1")
    (tree / "src" / "file").write_text("2")
    git(tree, "commit", "-q", "-a", "-m", "2")
    assert "CONFLICT" in git(tree, "rebase", "-X", "patience", "main")
    assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere") == []
    git(tree, "add", "src/file")
    assert "Successfully rebased" in git(tree, "rebase", "--continue")


def test_an_index_of_a_folder_that_passes_for_a_repository_stays(tree: Path) -> None:
    surveyed = survey(str(tree), "/nowhere", (), ())
    for name in ("HEAD", "objects", "refs", "index"):
        (tree / "src" / name).write_text("x")
    found = [one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")]
    assert found == [f"{tree}/src/HEAD"]


def test_what_git_itself_makes_stays_and_works(tree: Path) -> None:
    surveyed = survey(str(tree), "/nowhere", (), ())
    git(tree, "init", "-q", "-b", "main", "other")
    git(tree / "other", "commit", "-q", "--allow-empty", "-m", "x")
    git(tree, "submodule", "add", "-q", str(tree / "other"), "sub")
    git(tree, "worktree", "add", "-q", "wt")
    git(tree, "clone", "-q", "other", "copy")
    git(tree, "clone", "-q", "--bare", "other", "bare.git")
    git(tree, "commit", "-q", "-m", "all of it")
    assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere") == []
    for place in ("sub", "wt", "copy", "other", "."):
        assert "later" in git(tree / place, "commit", "--allow-empty", "-m", "later")


def test_what_the_operator_does_not_protect_stays(tree: Path) -> None:
    surveyed = survey(str(tree), "/nowhere", (), ("other/.git",))
    new_hooks(tree, tree.parent / "ran")
    assert disarm(surveyed, made_in(surveyed, [], []), ("other/.git",), "/nowhere") == []


def test_folders_of_hooks_that_were_configured_and_not_there_are_put_aside(tree: Path) -> None:
    git(tree, "config", "core.hooksPath", ".githooks")
    git(tree, "config", "include.path", "../extra")
    surveyed = survey(str(tree), "/nowhere", (), ())
    hook(tree / ".githooks", tree.parent / "ran")
    (tree / "extra").write_text("[core]\n\tpager = sh\n")
    found = {one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")}
    assert found == {f"{tree}/.githooks", f"{tree}/extra"}


def at_the_top(top: Path, ran: Path) -> None:
    evil(top, ran)


def a_way_at_the_top(top: Path, ran: Path) -> None:
    os.rename(evil(top / "x", ran), top / "x" / "deep")
    (top / ".git").write_text("gitdir: x/deep\n")


def bare_at_the_top(top: Path, ran: Path) -> None:
    for path in bare(top, ran).iterdir():
        path.rename(top / path.name)
    (top / "src").mkdir()
    (top / "config").write_text((top / "config").read_text().replace("/repo", ""))


@pytest.mark.parametrize("safe", [True, False], ids=["disarmed", "control: as it was left"])
@pytest.mark.parametrize("plant", [at_the_top, a_way_at_the_top, bare_at_the_top])
def test_a_project_that_was_no_repository_is_none_that_runs_something(
    tmp_path: Path, plant: Callable[[Path, Path], None], safe: bool
) -> None:
    top, ran = tmp_path / "top", tmp_path / "ran"
    top.mkdir()
    surveyed = survey(str(top), "/nowhere", (), ())
    plant(top, ran)
    if safe:
        assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")
    ran.unlink(missing_ok=True)
    ordinary(top)
    assert ran.exists() is not safe


@pytest.mark.parametrize("there", [True, False])
def test_hooks_that_the_repository_of_a_work_tree_has_there_are_the_agents_no_more(
    tree: Path, there: bool
) -> None:
    git(tree, "config", "core.hooksPath", ".githooks")
    work, ran = tree.parent / "work", tree.parent / "ran"
    git(tree, "worktree", "add", "-q", str(work))
    if there:
        hook(work / ".githooks", ran)
    surveyed = survey(str(work), "/nowhere", (), ())
    assert (f"{work}/.githooks" in surveyed.protected) is there
    if not there:
        hook(work / ".githooks", ran)
        done = disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")
        assert [one.path for one in done] == [f"{work}/.githooks"]
        git(work, "commit", "--allow-empty", "-m", "x")
        assert not ran.exists()
        os.rename(done[0].now, done[0].path)
    git(work, "commit", "--allow-empty", "-m", "x")
    assert ran.exists()  # the control: git obeys them


def test_a_link_on_the_way_to_a_folder_of_hooks_that_was_not_there_is_put_aside(tree: Path) -> None:
    git(tree, "config", "core.hooksPath", "kept/hooks")
    surveyed = survey(str(tree), "/nowhere", (), ())
    hook(tree / "src" / "hooks", tree.parent / "ran")
    (tree / "kept").symlink_to("/proc/self/cwd/src")
    found = [one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")]
    assert found == [f"{tree}/kept"]


def test_a_way_that_was_there_stays_and_one_that_leads_elsewhere_now_does_not(tree: Path) -> None:
    git(tree, "worktree", "add", "-q", "wt")
    surveyed = survey(str(tree), "/nowhere", (), ())
    assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere") == []
    (tree / "wt" / ".git").write_text("gitdir: /proc/self/cwd/../.git/worktrees/wt\n")
    found = [one.path for one in disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")]
    assert found == [f"{tree}/wt/.git"]


def test_a_folder_of_another_program_is_no_repository(tree: Path) -> None:
    surveyed = survey(str(tree), "/nowhere", (), ())
    (tree / ".claude" / "hooks").mkdir(parents=True)
    (tree / ".claude" / "hooks" / "x.sh").write_text("")
    assert disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere") == []


def test_nothing_outside_of_the_project_is_renamed(tree: Path, tmp_path: Path) -> None:
    outside = evil(tmp_path / "outside", tmp_path / "ran")
    surveyed = survey(str(tree), "/nowhere", (), ())
    (tree / "src" / ".git").symlink_to(outside)
    (tree / "a").mkdir()
    (tree / "a" / ".git").write_text(f"gitdir: {outside}\n")
    done = disarm(surveyed, made_in(surveyed, [], []), (), "/nowhere")
    assert {one.path for one in done} == {f"{tree}/src/.git", f"{tree}/a/.git"}
    assert (outside / "config").exists()
