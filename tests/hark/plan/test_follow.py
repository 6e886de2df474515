"""The policy read again while the run goes on: taken whole, standing still, from where no agent writes."""

import os
from dataclasses import fields, replace
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan import follow
from hark.plan.follow import Follower, check, reread
from hark.policy.model import HostRule, Policy
from hark.policy.parse import parse_policy

ONE = b'allow_hosts = ["a.example"]\n'
TWO = b'allow_hosts = ["a.example", "b.example:80"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conf" / "policy.toml"
    path.parent.mkdir()
    path.write_bytes(ONE)
    return path


class Followed:
    """A follower whose looks are the test's."""

    def __init__(self, file: Path) -> None:
        self.taken: list[Policy] = []
        self.said: list[str] = []
        current = parse_policy(file.read_bytes(), "policy.toml")
        self.follower = Follower(str(file), current, self.taken.append, self.said.append)

    def look(self, times: int = 2) -> None:
        for _ in range(times):
            self.follower.look()


def test_a_changed_file_is_taken_once_it_stands_still(file: Path) -> None:
    followed = Followed(file)
    followed.look()
    assert followed.taken == []
    file.write_bytes(TWO)
    followed.look(1)
    assert followed.taken == []
    followed.look(3)
    (policy,) = followed.taken
    assert policy.allow_hosts == (HostRule("a.example"), HostRule("b.example", 80))
    assert policy.raw == TWO
    assert [rule.host for rule in policy.rules] == ["a.example", "b.example"]
    assert followed.said == ["policy.toml changed, and what may be reached with it"]


def test_a_file_put_in_its_place_is_taken_too(file: Path) -> None:
    followed = Followed(file)
    (file.parent / "new").write_bytes(TWO)
    (file.parent / "new").rename(file)
    followed.look()
    assert [policy.raw for policy in followed.taken] == [TWO]


@pytest.mark.parametrize("raw", [b"allow_hosts = [", b"allow_hsots = []\n", b"\xff", b'allow_hosts = ["*"]'])
def test_a_file_that_is_no_policy_leaves_the_old_one_in_force_and_is_told_of_once(
    file: Path, raw: bytes
) -> None:
    followed = Followed(file)
    file.write_bytes(raw)
    followed.look(5)
    assert followed.taken == []
    (sentence,) = followed.said
    assert sentence.startswith("the policy stays as it was: policy.toml:")
    file.write_bytes(TWO)
    followed.look()
    assert [policy.raw for policy in followed.taken] == [TWO]


def test_a_file_that_is_gone_leaves_the_old_one_in_force(file: Path) -> None:
    followed = Followed(file)
    file.unlink()
    followed.look(4)
    assert followed.taken == []
    assert followed.said == [
        f"the policy stays as it was: cannot read policy {file}: no such file or directory"
    ]
    file.write_bytes(ONE)
    followed.look()
    assert followed.taken == []  # what it says is in force


def test_what_is_not_about_reaching_waits_for_the_next_run_and_is_named(file: Path) -> None:
    current = parse_policy(ONE, "policy.toml")
    file.write_bytes(TWO + b'read_paths = ["/data"]\n[env]\npass = ["X"]\n')
    read = reread(str(file), current)
    assert read is not None
    assert read.waiting == ("read_paths", "env.pass")
    assert read.policy.read_paths == ()
    assert len(read.policy.allow_hosts) == 2
    followed = Followed(file)
    file.write_bytes(ONE)
    followed.look()
    assert followed.said[1] == "other changes to it count from the next run on: read_paths, env.pass"


def test_what_the_command_line_alone_can_say_stays(file: Path) -> None:
    current = replace(parse_policy(ONE, "policy.toml"), allow_all=True)
    file.write_bytes(TWO)
    read = reread(str(file), current)
    assert read is not None
    assert (read.policy.allow_all, read.waiting) == (True, ())


def test_every_field_is_spelled_as_the_file_spells_it() -> None:
    assert set(follow._KEYS) | set(follow._LIVE) <= {field.name for field in fields(Policy)}


def test_a_link_put_in_its_place_is_not_followed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_bytes(TWO)
    followed = Followed(file)
    file.unlink()
    file.symlink_to(tmp_path / "agents.toml")
    followed.look(4)
    assert followed.taken == []
    assert len(followed.said) == 1


def test_a_second_name_is_not_followed(file: Path, tmp_path: Path) -> None:
    followed = Followed(file)
    os.link(file, tmp_path / "other-name")
    file.write_bytes(TWO)
    followed.look(4)
    assert followed.taken == []
    assert "has a second name" in followed.said[0]
    with pytest.raises(PolicyError, match="has a second name"):
        check(str(file), [])


def test_a_policy_that_the_agent_may_write_to_cannot_be_followed(file: Path, tmp_path: Path) -> None:
    for grant in (tmp_path, file.parent, file):
        with pytest.raises(PolicyError, match=f"lies in {grant}, which the agent may write to"):
            check(str(file), ["/elsewhere", str(grant)])
    (tmp_path / "link").symlink_to(file.parent)
    with pytest.raises(PolicyError, match="which the agent may write to"):
        check(str(tmp_path / "link" / "policy.toml"), [str(file.parent)])


def test_the_control_another_directory_is_no_hindrance(file: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    assert check(str(file), [str(tmp_path / "project"), "/elsewhere"]) == str(file)


def test_it_looks_by_itself_until_it_is_stopped(file: Path) -> None:
    followed = Followed(file)
    followed.follower.start()
    file.write_bytes(TWO)
    deadline = 600
    while not followed.taken and deadline:
        followed.follower._stopping.wait(0.1)
        deadline -= 1
    followed.follower.stop()
    followed.follower.stop()
    assert [policy.raw for policy in followed.taken] == [TWO]


def test_a_change_from_before_the_first_look_is_noticed(file: Path) -> None:
    current = parse_policy(ONE, "policy.toml")
    file.write_bytes(TWO)
    taken: list[Policy] = []
    Follower(str(file), current, taken.append, print).look()
    assert [policy.raw for policy in taken] == [TWO]
