"""What the agent may see and write: each grant with its reason, and none that nobody can mean."""

from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan.grants import Asked, active, settle, with_stubs, writable
from hark.policy.model import Policy
from launcher.plan import Access, Grant


def settled(tmp_path: Path, needs: tuple[str, ...] = (), **asked: tuple[str, ...]) -> tuple[Grant, ...]:
    work = tmp_path / "home" / "app"
    work.mkdir(parents=True, exist_ok=True)
    return settle(Asked("tool", **asked), Policy(), needs, str(work), str(work.parent))


def test_writing_wins_where_a_path_is_granted_twice(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    twice = (str(tmp_path / "d"),)
    grants = settled(tmp_path, read=twice, write=twice)
    assert [grant.access for grant in grants if grant.path in twice] == [Access.WRITE]


def test_what_the_command_needs_is_granted_unless_the_system_shows_it_already(tmp_path: Path) -> None:
    grants = settled(tmp_path, needs=("/usr/bin/env", str(tmp_path)))
    assert [grant.path for grant in grants if grant.why == "needed by tool"] == [str(tmp_path)]


def test_the_stubs_add_only_what_is_not_there_yet(tmp_path: Path) -> None:
    before = (Grant("/opt/a", Access.READ, "-read"),)
    after = with_stubs(before, ("/opt/a", "/usr/bin/sh", "/opt/b"))
    assert after == (*before, Grant("/opt/b", Access.READ, "stubs of [mcp]"))


def test_only_grants_to_write_are_writable(tmp_path: Path) -> None:
    assert writable(settled(tmp_path)) == [str(tmp_path / "home" / "app")]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"read": ("/no/such/path",)}, "does not exist"),
        ({"read": ("/",)}, "whole machine"),
        ({"write": ("/usr/lib",)}, "belongs to the system"),
        ({"write": ("~",)}, "home directory"),
        ({"write": ("~/..",)}, "home directory or above it"),
    ],
)
def test_a_grant_that_nobody_can_mean_is_refused(
    tmp_path: Path, asked: dict[str, tuple[str, ...]], words: str
) -> None:
    with pytest.raises(PolicyError, match=words):
        settled(tmp_path, **asked)


def test_a_home_directory_that_calls_itself_an_environment_is_not_granted(tmp_path: Path) -> None:
    environ = {"VIRTUAL_ENV": str(tmp_path)}
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert active(environ, str(tmp_path), str(tmp_path / "app")) == ()
    assert active(environ, "/home/of-another", str(tmp_path / "app"))[0] == str(tmp_path)
