"""What git obeys by itself, read from real configuration files."""

import os
import subprocess

from hark.repositories import obeyed


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
    (module / "objects").mkdir(parents=True)
    (module / "HEAD").touch()
    inner = module / "modules" / "c"
    (inner / "objects").mkdir(parents=True)
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
