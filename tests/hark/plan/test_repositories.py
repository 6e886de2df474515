"""What git obeys by itself, read from real configuration files."""

import os
import subprocess
import sys
import tempfile

import pytest

from hark.errors import PolicyError
from hark.plan import repositories
from hark.plan.repositories import MAX_CONFIG, Reading, kept, obeyed
from tests.launcher.rig import apart


def test_what_git_itself_writes_is_understood(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "config", "core.hooksPath", "my hooks"], check=True)
    subprocess.run(["git", "-C", tmp_path, "config", "include.path", "../extra.cfg"], check=True)
    git = str(tmp_path / ".git")
    found = set(obeyed(git, str(tmp_path)))
    assert {f"{git}/hooks", f"{git}/config", f"{git}/info", f"{git}/commondir"} <= found
    assert {str(tmp_path / "my hooks"), str(tmp_path / "extra.cfg")} <= found


def test_submodules_are_found_at_any_depth_and_links_in_a_circle_end(tmp_path):
    module = tmp_path / "modules" / "a" / "b"
    for name in ("objects", "refs"):
        (module / name).mkdir(parents=True)
    (module / "HEAD").touch()
    inner = module / "modules" / "c"
    for name in ("objects", "refs"):
        (inner / name).mkdir(parents=True)
    (inner / "HEAD").touch()
    (tmp_path / "modules" / "loop").symlink_to(tmp_path / "modules")
    found = set(obeyed(str(tmp_path), str(tmp_path.parent)))
    assert {f"{module}/config", f"{inner}/hooks"} <= found


def test_an_unreadable_or_strange_configuration_adds_nothing(tmp_path):
    (tmp_path / "config").write_bytes(b"\xff\0hooksPath\n")
    plain = len(set(obeyed(str(tmp_path), str(tmp_path))))
    (tmp_path / "config").unlink()
    os.mkfifo(tmp_path / "config")
    assert len(set(obeyed(str(tmp_path), str(tmp_path)))) == plain


def test_what_is_kept_for_linked_worktrees_is_obeyed_where_they_are(tmp_path):
    main = tmp_path / "main"
    subprocess.run(["git", "init", "-q", main], check=True)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run(["git", "-C", main, *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run(["git", "-C", main, "worktree", "add", "-q", tmp_path / "other"], check=True)
    kept = main / ".git" / "worktrees" / "other"
    assert (kept / "commondir").exists()
    found = set(obeyed(str(main / ".git"), str(main)))
    assert {f"{kept}/commondir", f"{kept}/config.worktree"} <= found


def test_included_files_are_followed_to_hooks_and_circles_end(tmp_path):
    git = tmp_path / ".git"
    git.mkdir()
    (git / "config").write_text("[include]\n\tpath = ../one.cfg ; ours\n")
    (git / "config.worktree").write_text("[core] hooksPath = 'x' # not this quote\n")
    (tmp_path / "one.cfg").write_text('[include]\n\tpath = "sub/two.cfg"\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "two.cfg").write_text("[core]\nhooksPath = team\n[include]\npath = ../one.cfg\n")
    found = set(obeyed(str(git), str(tmp_path)))
    assert {f"{tmp_path}/{name}" for name in ("one.cfg", "sub/two.cfg", "team", "'x'")} <= found


def test_hooks_that_the_user_names_for_every_repository_are_found_in_each(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[include]\n\tpath = ~/more\n")
    (home / "more").write_text("[core]\n\thooksPath = .githooks\n")
    repository = tmp_path / "app" / ".git"
    repository.mkdir(parents=True)
    assert f"{tmp_path}/app/.githooks" in set(obeyed(str(repository), f"{tmp_path}/app", str(home)))
    assert f"{tmp_path}/app/.githooks" not in set(obeyed(str(repository), f"{tmp_path}/app", "/nowhere"))


def test_hooks_of_a_submodule_lie_in_its_own_worktree(tmp_path):
    module = tmp_path / ".git" / "modules" / "sub"
    for name in ("objects", "refs"):
        (module / name).mkdir(parents=True)
    (module / "HEAD").touch()
    (module / "config").write_text("[core]\n\tworktree = ../../../sub\n\thooksPath = h\n")
    assert f"{tmp_path}/sub/h" in set(obeyed(str(tmp_path / ".git"), str(tmp_path)))


def test_more_directories_than_are_looked_through_are_named_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(repositories, "MAX_MODULES", 3)
    for name in "abcd":
        (tmp_path / "modules" / name).mkdir(parents=True)
        (tmp_path / "worktrees" / name).mkdir(parents=True)
    assert {f"{tmp_path}/modules", f"{tmp_path}/worktrees"} <= set(kept(str(tmp_path)))


def test_a_directory_that_cannot_be_listed_is_named():
    def work():
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/modules", 0o111)
            return os.path.relpath(next(path for path in kept(folder) if path != folder), folder)

    assert apart(work) == "modules"


def test_a_link_among_submodules_is_named(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "lib").symlink_to("../elsewhere")
    assert f"{tmp_path}/modules/lib" in set(kept(str(tmp_path)))


@pytest.mark.parametrize(
    "filling", ["\n", " ", "\t\n", "[a]", "[", '["', "[a]\n", "path\n", "path ", "[a] path = "]
)
def test_configuration_that_is_nothing_but_filling_is_read_in_one_pass(tmp_path, filling):
    """In a process of its own: an expression that reads a text over and over hears no signal meanwhile."""
    end = "\n[core]\n\thooksPath = h\n"
    (tmp_path / "config").write_text((filling * MAX_CONFIG)[: MAX_CONFIG - len(end)] + end)
    script = "import sys; from hark.plan.repositories import obeyed; print(*obeyed(sys.argv[1], sys.argv[1]))"
    ran = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, timeout=60, check=True
    )
    assert f"{tmp_path}/h" in ran.stdout.split()


@pytest.mark.parametrize(
    "text",
    [
        "[core]hooksPath=h",
        "\ufeff[core] hooksPath = h",
        "[a][core] hooksPath = h",
        '[a "]"] x = y\n[core "]\\"["]\r\n\thooksPath = "h"\r\n',
    ],
)
def test_a_setting_is_found_wherever_git_reads_one(tmp_path, text):
    (tmp_path / "config").write_text(text)
    assert f"{tmp_path}/h" in set(obeyed(str(tmp_path), str(tmp_path)))
    (tmp_path / "config").write_text(text.replace("hooksPath", "#hooksPath"))
    assert f"{tmp_path}/h" not in set(obeyed(str(tmp_path), str(tmp_path)))


def test_more_configuration_in_a_project_than_one_waits_for_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(repositories, "MAX_READ", 1000)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("#" * 5000)
    root = tmp_path / "project"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
        (root / name / "config").write_text("#" * 500)
    reading = Reading(str(root))
    for name in ("a", "b"):  # what lies elsewhere, as the user's own, does not count
        set(obeyed(f"{root}/{name}", str(root), str(home), reading))
    with pytest.raises(PolicyError, match="remove repositories there"):
        set(obeyed(f"{root}/a", str(root), str(home), reading))
