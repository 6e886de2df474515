"""The project directory, on real trees: what is refused, masked, protected, and found changed."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan import project
from hark.plan.appeared import made_since
from hark.plan.project import changes, fingerprints, survey
from tests.launcher.rig import apart

type Plant = Callable[[Path], tuple[Path, str]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "home" / "app"
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    (root / "src").mkdir()
    return root


def names(root: Path, paths: tuple[str, ...]) -> set[str]:
    return {os.path.relpath(path, root) for path in paths}


def look(
    root: Path, unmask: tuple[str, ...] = (), unprotect: tuple[str, ...] = (), mask: tuple[str, ...] = ()
) -> project.Project:
    return survey(str(root), str(root.parent), unmask, unprotect, mask)


def test_files_that_hold_credentials_are_masked_at_any_depth(tree):
    for name in (".env", "src/.env.local", ".netrc", "src/.npmrc", "id_ed25519"):
        (tree / name).write_text("x")
    assert names(tree, look(tree).masked) == {".env", "src/.env.local", ".netrc", "src/.npmrc", "id_ed25519"}


NOWHERE = {
    "a ring": lambda path: path.name,
    "below a file": lambda path: f"{path.parent}/file/below",
    "a name too long": lambda path: "n" * 300,
    "a place that is closed to ordinary users": lambda path: "/proc/1/root/etc",
    "nothing": lambda path: "missing",
}


@pytest.mark.parametrize("where", NOWHERE)
def test_links_that_cannot_be_followed_keep_no_run_from_starting(tree, where):
    (tree / "other" / ".git").mkdir(parents=True)
    (tree / "file").write_text("")
    acted_on = (".git", ".env", ".gitmodules", "HEAD", "key.pem", "run.hark", "Makefile", ".envrc", "any")
    in_git = ("config", "hooks", "HEAD", "index", "info", "commondir", "modules", "worktrees")
    planted = [tree / "src" / name for name in acted_on]
    planted += [tree / "other" / ".git" / name for name in in_git]
    for link in planted:
        link.symlink_to(NOWHERE[where](link))
    assert not names(tree, look(tree).masked) & {f"src/{name}" for name in acted_on}
    (tree / "src" / ".netrc").symlink_to("../file")
    assert "file" in names(tree, look(tree).masked), "the control: a link that can be followed is"


def test_a_pem_file_is_masked_when_it_holds_a_private_key(tree):
    (tree / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (tree / "tls.pem").write_text("-----BEGIN EC PRIVATE KEY-----\n")
    assert names(tree, look(tree).masked) == {"tls.pem"}


def test_a_key_file_that_cannot_be_read_is_masked(tree, monkeypatch):
    (tree / "odd.pem").write_text("?")

    def refuse(*_args: object) -> None:
        raise PermissionError(13, "permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert names(tree, look(tree).masked) == {"odd.pem"}


def test_the_policy_can_mask_any_file_under_every_name_that_it_has(tree):
    (tree / "config.json").write_text("{}")
    os.link(tree / "config.json", tree / "copy.json")
    (tree / "link.json").symlink_to("config.json")
    (tree / "away.json").symlink_to("/etc/hostname")
    plain = names(tree, look(tree).masked)
    both = {"config.json", "copy.json"}
    assert not both & plain
    assert names(tree, look(tree, mask=("config.json",)).masked) == plain | both
    assert names(tree, look(tree, mask=("link.json", "away.json", "none.json")).masked) == plain | both
    assert both <= names(tree, look(tree, unmask=("config.json", "copy.json"), mask=("config.json",)).masked)


def test_the_policy_can_unmask_one_file_and_no_other(tree):
    (tree / ".env").write_text("x")
    (tree / "src" / ".env").write_text("x")
    assert names(tree, look(tree, unmask=(".env",)).masked) == {"src/.env"}


def test_installed_packages_are_not_searched(tree):
    for name in ("node_modules/a/.npmrc", "lib/site-packages/certifi/.env"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("x")
    assert look(tree).masked == ()


def test_a_fifo_with_a_key_files_name_does_not_stop_the_search(tree):
    os.mkfifo(tree / "wait.pem")
    assert look(tree).masked == ()


def test_what_runs_by_itself_is_protected_where_it_exists(tree):
    assert names(tree, look(tree).protected) == {".git/hooks", ".git/config"}
    assert names(tree, look(tree, unprotect=(".git/hooks",)).protected) == {".git/config"}


def test_a_tree_too_large_to_search_is_refused_and_not_half_searched(tree, monkeypatch):
    assert look(tree).root == str(tree)
    monkeypatch.setattr(project, "MAX_ENTRIES", 1)
    with pytest.raises(PolicyError, match="too many to search for credentials"):
        look(tree)


def test_home_and_everything_above_it_are_refused(tree):
    home = str(tree.parent)
    for root in (home, str(tree.parent.parent)):
        with pytest.raises(PolicyError, match="-workdir"):
            survey(root, home, (), ())


@pytest.mark.parametrize("root", ["/usr", "/usr/bin", "/etc/ssl", "/tmp", "/proc", "/var/lib"])
def test_a_directory_of_the_system_is_refused(root, tmp_path):
    with pytest.raises(PolicyError, match="belongs to the system"):
        survey(root, str(tmp_path), (), ())


def test_a_link_to_home_is_refused_like_home(tree):
    link = tree.parent.parent / "link"
    link.symlink_to(tree.parent)
    with pytest.raises(PolicyError, match="home directory"):
        survey(str(link), str(tree.parent), (), ())


def found(tree: Path) -> dict[str, int]:
    """What changed in the tree since it was surveyed, by a function that changes it."""
    watched = look(tree).watched
    return project.fingerprints(watched), watched


def since(tree: Path, before: dict[str, bytes], watched: tuple[str, ...]) -> dict[str, int]:
    after = changes(watched, before, fingerprints(watched))
    return {os.path.relpath(name, tree): count for name, count in after.items()}


def test_every_change_to_a_protected_path_is_found(tree):
    (tree / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    (tree / "AGENTS.md").write_text("x")
    before, watched = found(tree)
    assert since(tree, before, watched) == {}
    (tree / ".git" / "hooks" / "pre-push").chmod(0o755)
    (tree / ".vscode").mkdir()
    (tree / ".vscode" / "tasks.json").write_text("{}")
    (tree / "AGENTS.md").unlink()
    assert since(tree, before, watched) == {".git/hooks/pre-push": 1, ".vscode/tasks.json": 1, "AGENTS.md": 1}


def test_many_changes_in_one_place_are_one_line_and_samples_are_none(tree):
    before, watched = found(tree)
    for name in ("pre-push", "pre-commit", "post-merge", "update.sample"):
        (tree / ".git" / "hooks" / name).write_text("x")
    assert since(tree, before, watched) == {".git/hooks": 3}


def test_ways_round_the_repository_are_found(tree):
    before, watched = found(tree)
    (tree / ".git" / "commondir").write_text("../evil\n")
    (tree / "HEAD").write_text("ref: refs/heads/main\n")
    assert since(tree, before, watched) == {".git/commondir": 1, "HEAD": 1}


def test_a_git_file_that_appears_is_found(tmp_path):
    root = tmp_path / "home" / "plain"
    root.mkdir(parents=True)
    before, watched = found(root)
    (root / ".git").write_text("gitdir: gd\n")
    assert since(root, before, watched) == {".git": 1}


def test_nested_repositories_submodules_and_configured_hooks_are_protected(tree):
    (tree / "a" / ".git" / "hooks").mkdir(parents=True)
    (tree / "a" / ".git" / "config").write_text("[core]\n")
    module = tree / ".git" / "modules" / "deep" / "sub"
    for name in ("objects", "refs"):
        (module / name).mkdir(parents=True)
    (module / "HEAD").write_text("x")
    (module / "config").write_text("[core]\n")
    (tree / ".githooks").mkdir()
    (tree / "shared.cfg").write_text("[core]\n")
    (tree / ".git" / "config").write_text(
        "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.cfg\n"
    )
    assert names(tree, look(tree).protected) >= {
        "a/.git/hooks",
        "a/.git/config",
        ".git/modules/deep/sub/config",
        ".githooks",
        "shared.cfg",
    }


def test_the_bundle_of_an_earlier_run_is_masked_and_a_file_of_that_name_is_not(tree):
    (tree / "run.hark").write_bytes(b"HARK\x01...")
    (tree / "notes.hark").write_text("about hark")
    assert names(tree, look(tree).masked) == {"run.hark"}


def test_what_the_agent_left_behind_cannot_hold_up_the_comparison(tree):
    watched = look(tree).watched
    os.mkfifo(tree / ".gitmodules")
    with open(tree / "CLAUDE.md", "wb") as file:
        file.truncate(1 << 40)
    (tree / ".husky").symlink_to("/proc")
    deep = tree / ".vscode"
    deep.mkdir()
    here = os.open(deep, os.O_RDONLY)
    for _ in range(25):  # beyond PATH_MAX
        os.mkdir("d" * 200, dir_fd=here)
        here, last = os.open("d" * 200, os.O_RDONLY, dir_fd=here), here
        os.close(last)
    os.close(os.open("x" * 200, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    seen = {os.path.relpath(path, tree) for path in fingerprints(watched)}
    assert {".gitmodules", "CLAUDE.md", ".husky"} <= seen
    assert fingerprints((str(deep / ("x" * 300)),)) == {}


def test_a_link_to_a_directory_in_a_protected_place_is_a_change(tree):
    (tree / ".claude").mkdir()
    before, watched = found(tree)
    (tree / ".claude" / "commands").symlink_to("../evil")
    assert since(tree, before, watched) == {".claude/commands": 1}


def test_every_name_of_a_file_with_credentials_is_masked_and_so_is_what_a_link_of_that_name_leads_to(tree):
    (tree / ".env").write_text("x")
    os.link(tree / ".env", tree / "src" / "notes.txt")
    (tree / ".git" / "objects").mkdir()
    os.link(tree / ".env", tree / ".git" / "objects" / "x")
    (tree / "config").mkdir()
    (tree / "config" / "prod").write_text("y")
    (tree / "src" / ".netrc").symlink_to("../config/prod")
    (tree / "src" / ".npmrc").symlink_to("/etc/hostname")
    os.link(tree / "config" / "prod", tree / "again")
    assert names(tree, look(tree).masked) == {
        ".env",
        "src/notes.txt",
        ".git/objects/x",
        "config/prod",
        "again",
    }


def test_every_name_of_a_protected_file_is_protected(tree):
    os.link(tree / ".git" / "config", tree / "src" / "innocent")
    (tree / "src" / "other").write_text("x")
    os.link(tree / "src" / "other", tree / "src" / "another")
    assert names(tree, look(tree).protected) == {".git/hooks", ".git/config", "src/innocent"}


def test_a_repository_and_other_names_that_the_agent_makes_are_found_at_any_depth(tree):
    for name in ("src/CLAUDE.md", "src/.envrc"):
        (tree / name).write_text("x")
    before = look(tree)
    assert "src/CLAUDE.md" in names(tree, before.watched)
    assert "src/CLAUDE.md" not in names(tree, before.protected)
    assert made_since(before) == {}
    (tree / "sub" / ".git" / "hooks").mkdir(parents=True)
    for name in ("objects", "refs"):
        (tree / "bare.git" / name).mkdir(parents=True)
    (tree / "bare.git" / "HEAD").write_text("ref: x\n")
    (tree / "src" / "HEAD").write_text("no repository\n")
    (tree / "src" / ".mcp.json").write_text("{}")
    assert names(tree, tuple(made_since(before))) == {"sub/.git", "bare.git/HEAD", "src/.mcp.json"}


def planted(folder: Path, worktree: Path, *, files: bool = False) -> None:
    """What git takes for a bare repository, with a program of the agent's."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("objects", "refs"):
        (folder / name).touch(0o755) if files else (folder / name).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/x\n")
    program = f"touch {worktree}/RAN; false"
    (folder / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
        f'\tworktree = {worktree}\n\tfsmonitor = "{program}"\n\tsshCommand = "{program}"\n'
        '[remote "origin"]\n\turl = host:x\n'
    )


def plant_files(tree: Path) -> tuple[Path, str]:
    planted(tree / "src", tree / "src", files=True)
    return tree / "src", "src/HEAD"


def plant_among_packages(tree: Path) -> tuple[Path, str]:
    folder = tree / "node_modules" / "x" / "lib"
    planted(folder, folder, files=True)
    return folder, "node_modules/x/lib/HEAD"


def plant_elsewhere(tree: Path) -> tuple[Path, str]:
    planted(tree / "build", tree / "build")
    (tree / "src" / "commondir").write_text("../build\n")
    (tree / "src" / "HEAD").write_text("ref: refs/heads/x\n")
    return tree / "src", "src/HEAD"


def plant_common_directory(tree: Path) -> tuple[Path, str]:
    planted(tree / "build", tree)
    (tree / ".git" / "HEAD").write_text("ref: refs/heads/x\n")
    (tree / ".git" / "commondir").write_text("../build\n")
    return tree, ".git/commondir"


def plant_submodule(tree: Path) -> tuple[Path, str]:
    planted(tree / ".git" / "modules" / "a" / "b", tree / "src")
    (tree / "src" / ".git").write_text("gitdir: ../.git/modules/a/b\n")
    return tree / "src", ".git/modules/a/b"


def plant_linked_submodule(tree: Path) -> tuple[Path, str]:
    planted(tree / "build", tree / "src")
    (tree / ".git" / "modules").mkdir()
    (tree / ".git" / "modules" / "lib").symlink_to("../../build")
    (tree / "src" / ".git").write_text("gitdir: ../.git/modules/lib\n")
    return tree / "src", ".git/modules/lib"


@pytest.mark.parametrize(
    "plant",
    [
        plant_files,
        plant_among_packages,
        plant_elsewhere,
        plant_common_directory,
        plant_submodule,
        plant_linked_submodule,
    ],
)
def test_what_git_takes_for_a_repository_is_named(tree: Path, plant: Plant) -> None:
    (tree / ".git" / "objects").mkdir()
    (tree / ".git" / "refs").mkdir()
    (tree / "node_modules" / "old" / ".git").mkdir(parents=True)
    before, watched = found(tree)
    surveyed = look(tree)
    surveyed = replace(surveyed, surveyed_at=surveyed.surveyed_at + 2 * project._MARGIN_NS)
    assert made_since(surveyed) == {}
    surveyed = replace(surveyed, surveyed_at=surveyed.surveyed_at - 2 * project._MARGIN_NS)
    where, name = plant(tree)
    assert name in names(tree, tuple(made_since(surveyed))) | set(since(tree, before, watched))
    # The control: git does run the program there.
    for command in ("status", "fetch"):
        subprocess.run(["git", command], cwd=where, check=False, capture_output=True)
    assert list(tree.rglob("RAN"))


def test_a_folder_that_the_agent_keeps_from_being_listed_is_named() -> None:
    def work() -> tuple[set[str], bool]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "src").mkdir()
            (root / "shut").mkdir(0o111)
            surveyed = survey(str(root), "/nowhere", (), ())
            planted(root / "src", root / "src")
            (root / "src").chmod(0o311)
            said = names(root, tuple(made_since(surveyed)))
            subprocess.run(["git", "status"], cwd=root / "src", check=False, capture_output=True)
            ran = (root / "src" / "RAN").exists()
            (root / "src").chmod(0o755)
            return said, ran

    assert apart(work) == ({"src"}, True)


def test_what_git_is_in_the_middle_of_is_compared_and_stays_writable(tree: Path) -> None:
    todo = tree / ".git" / "rebase-merge" / "git-rebase-todo"
    todo.parent.mkdir()
    todo.write_text("pick 1234567\n")
    before, watched = found(tree)
    assert str(todo) not in look(tree).protected
    todo.write_text("exec touch RAN\n")
    assert since(tree, before, watched) == {".git/rebase-merge/git-rebase-todo": 1}


def test_what_other_programs_obey_in_a_repository_further_down_is_compared(tree: Path) -> None:
    (tree / "sub" / ".git").mkdir(parents=True)
    before, watched = found(tree)
    (tree / "sub" / ".git" / "lazygit.yml").write_text("git:\n")
    assert since(tree, before, watched) == {"sub/.git/lazygit.yml": 1}


def test_what_a_link_among_hooks_leads_to_is_protected_and_a_folder_compared(tree):
    (tree / "scripts").mkdir()
    (tree / "scripts" / "check").write_text("#!/bin/sh\n")
    (tree / "shared").mkdir()
    (tree / "shared" / "skill").write_text("x")
    (tree / ".git" / "hooks" / "pre-commit").symlink_to("../../scripts/check")
    (tree / ".git" / "hooks" / "out").symlink_to("/etc/passwd")
    (tree / ".git" / "hooks" / "all").symlink_to("../..")
    (tree / ".claude").mkdir()
    (tree / ".claude" / "skills").symlink_to("../shared")
    (tree / "CLAUDE.md").symlink_to("src/notes.md")
    (tree / "src" / "notes.md").write_text("x")
    protected = names(tree, look(tree).protected)
    assert {"scripts/check", "src/notes.md"} <= protected
    assert not {"shared", ".", "../../../../../../etc/passwd"} & protected
    assert "scripts/check" not in names(tree, look(tree, unprotect=("scripts/check",)).protected)
    before, watched = found(tree)
    (tree / "shared" / "skill").write_text("y")
    assert since(tree, before, watched) == {"shared/skill": 1}


def test_a_bare_repository_is_protected_like_any_other(tree):
    bare = tree / "store" / "x.git"
    for name in ("objects", "refs", "hooks"):
        (bare / name).mkdir(parents=True)
    for name in ("HEAD", "config"):
        (bare / name).write_text("x")
    assert {"store/x.git/hooks", "store/x.git/config"} <= names(tree, look(tree).protected)


def test_what_direnv_evaluates_is_read_only_and_what_else_lies_beside_it_is_not(tree):
    for name in (".direnv/flake-profile-1.rc", ".direnv/python-3.13/bin/python", "sub/.direnv/x.rc"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    found = look(tree)
    assert ".direnv/flake-profile-1.rc" in names(tree, found.protected)
    assert not {".direnv/python-3.13/bin/python", "sub/.direnv/x.rc"} & names(tree, found.protected)
    assert "sub/.direnv/x.rc" in names(tree, found.watched)
    (tree / ".direnv" / "flake-profile-2.rc").touch()
    assert names(tree, made_since(found)) == {".direnv/flake-profile-2.rc"}


def test_as_many_changes_as_an_agent_can_make_are_each_looked_up_once():
    """In a process of its own: at 43 ns for each pair of names this took seven minutes."""
    script = (
        "from hark.plan.project import changes\n"
        "watched = tuple(f'/p/d{number}/CLAUDE.md' for number in range(100_000))\n"
        "print(len(changes(watched, dict.fromkeys(watched, b'1'), dict.fromkeys(watched, b'2'))))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == "100000\n"


def test_a_change_is_told_by_the_first_watched_path_that_it_lies_in():
    before = {"/p/a/b/x": b"1", "/p/a/b/y": b"1", "/p/ab": b"1"}
    after = dict.fromkeys(before, b"2")
    assert changes(("/p/a", "/p/a/b", "/p/ab"), before, after) == {"/p/a": 2, "/p/ab": 1}
    assert changes(("/p/a/b", "/p/a"), before, after) == {"/p/a/b": 2, "/p/ab": 1}


def test_a_socket_that_a_program_listens_on_is_masked_and_a_leftover_is_not(tree):
    sockets = []
    deep = tree / ("d" * 120)
    deep.mkdir()
    for name, kind in (("live", socket.SOCK_STREAM), ("datagrams", socket.SOCK_DGRAM), ("dead", None)):
        one = socket.socket(socket.AF_UNIX, kind or socket.SOCK_STREAM)
        place = os.open(deep, os.O_PATH)
        one.bind(f"/proc/self/fd/{place}/{name}")
        os.close(place)
        if kind == socket.SOCK_STREAM:
            one.listen()
        sockets.append(one) if kind else one.close()
    os.mkfifo(tree / "pipe")
    assert names(tree, look(tree).masked) == {f"{deep.name}/live", f"{deep.name}/datagrams"}
    assert look(tree, unmask=(f"{deep.name}/live", f"{deep.name}/datagrams")).masked == ()
    for one in sockets:
        one.close()


def test_a_socket_on_which_somebody_begins_to_listen_is_found_at_the_end(tmp_path, monkeypatch):
    root = tmp_path / "home" / "app"
    root.mkdir(parents=True)
    monkeypatch.chdir(root)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as early, socket.socket(socket.AF_UNIX) as late:
        early.bind("early")
        early.listen()
        for before in (look(root), look(root, unmask=("early",))):
            with socket.socket(socket.AF_UNIX) as left:
                left.bind("left")  # by the agent, which is gone
            services: list[str] = []
            assert made_since(before, services) == {}
            assert services == []
            os.unlink("left")
        late.bind("late")
        late.listen()
        assert made_since(before, services) == {}
    assert names(root, tuple(services)) == {"late"}


def test_a_fifo_that_a_program_reads_is_masked_and_one_that_nobody_reads_is_not(tree):
    for name in ("read", "alone", "late"):
        os.mkfifo(tree / name)
    (tree / "plain").touch()
    reader = os.open(tree / "read", os.O_RDONLY | os.O_NONBLOCK)
    before = look(tree)
    assert names(tree, before.masked) == {"read"}
    assert look(tree, unmask=("read",)).masked == ()
    os.mkfifo(tree / "new")
    os.mkfifo(tree / "left")
    later = [os.open(tree / name, os.O_RDONLY | os.O_NONBLOCK) for name in ("late", "new")]
    services: list[str] = []
    made_since(before, services)
    assert names(tree, tuple(services)) == {"late", "new"}
    assert os.read(reader, 1) == b""
    for one in (reader, *later):
        os.close(one)


def test_a_program_that_waits_for_a_writer_of_a_fifo_counts_and_gets_no_byte(tree):
    os.mkfifo(tree / "read")
    until = time.monotonic() + 60
    with subprocess.Popen(["cat", tree / "read"], stdout=subprocess.PIPE) as waiting:
        while not (masked := look(tree).masked) and time.monotonic() < until:
            time.sleep(0.01)  # it has not come so far yet
        assert names(tree, masked) == {"read"}
        assert waiting.communicate(timeout=60) == (b"", None)


def test_the_socket_of_gits_own_daemon_is_masked_and_named_like_others(tmp_path, monkeypatch):
    root = tmp_path / "home" / "app"
    for git in (root / ".git", root / "sub" / ".git"):
        git.mkdir(parents=True)
    (root / "file").mkdir()
    (root / "file" / ".git").write_text("gitdir: ../.git\n")
    monkeypatch.chdir(root)
    daemon = ".git/fsmonitor--daemon.ipc"
    with socket.socket(socket.AF_UNIX) as early, socket.socket(socket.AF_UNIX) as late:
        early.bind(daemon)
        assert look(root).masked == ()  # nobody listens yet
        early.listen()
        before = look(root)
        assert names(root, before.masked) == {daemon}
        late.bind(f"sub/{daemon}")
        late.listen()
        services: list[str] = []
        made_since(before, services)
    assert names(root, tuple(services)) == {f"sub/{daemon}"}


def test_thousands_of_large_files_hold_up_no_comparison_and_a_change_to_one_is_found(tree, monkeypatch):
    read = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *args, **more: read.append(path) or real(path, *args, **more)
    )
    large = tree / ".vscode" / "large"
    large.parent.mkdir()
    large.touch()
    os.truncate(large, project.MAX_FINGERPRINT + 1)
    before, watched = found(tree)
    assert str(large) not in read
    assert since(tree, before, watched) == {}
    with open(large, "r+b") as file:
        file.write(b"x")
    assert since(tree, before, watched) == {".vscode/large": 1}


def test_a_masked_file_that_is_saved_anew_in_another_folder_of_that_name_is_told_of(tree):
    (tree / "src" / ".env").write_text("old")
    (tree / "other").mkdir()
    (tree / "other" / ".env").write_text("x")
    before = project.folders(look(tree).masked)
    (tree / "src" / ".env").write_text("saved in place")
    (tree / "other").rename(tree / "moved")
    assert project.bared(before) == []
    (tree / "src").rename(tree / "old")
    (tree / "src").mkdir()
    assert project.bared(before) == []
    (tree / "src" / ".env").write_text("new")
    assert project.bared(before) == [str(tree / "src" / ".env")]
