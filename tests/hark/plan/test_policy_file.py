"""Which policy a run has: one that was named, or the caller's own, and never what an agent may have left."""

import os
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan.policy_file import load, own_path, read_policy, said_at_the_end, said_of, shown_own_path
from hark.policy.model import HostRule, Policy

OWN = 'allow_hosts = ["own.example"]'


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def own(environ: dict[str, str]) -> Path:
    path = Path(own_path(environ))
    path.parent.mkdir(parents=True)
    path.write_text(OWN)
    path.chmod(0o644)
    return path


def test_without_any_file_everything_is_denied(environ):
    assert read_policy(None, environ) == Policy()


def test_the_callers_own_policy_is_taken_and_announced(environ, tmp_path):
    path = own(environ)
    policy = read_policy(None, environ)
    assert (policy.allow_hosts, policy.source) == ((HostRule("own.example"),), str(path))
    assert list(said_of(policy, None, str(tmp_path))) == [f"policy {path} (no -policy was given)"]


def test_an_own_policy_that_is_empty_is_announced_too(environ, tmp_path):
    own(environ).write_text("")
    assert any(
        "no -policy was given" in line for line in said_of(read_policy(None, environ), None, str(tmp_path))
    )


def test_a_policy_that_is_named_stands_alone_and_needs_no_word(environ, tmp_path):
    own(environ)
    (tmp_path / "p.toml").write_text("")
    policy = read_policy(str(tmp_path / "p.toml"), environ)
    assert policy.allow_hosts == ()
    assert list(said_of(policy, str(tmp_path / "p.toml"), str(tmp_path))) == []


@pytest.mark.parametrize("name", ["policy.toml", "hark.toml"])
def test_a_policy_that_merely_lies_in_the_project_is_not_obeyed_and_the_caller_is_told(
    environ, tmp_path, monkeypatch, name
):
    (tmp_path / name).write_text(OWN)
    monkeypatch.chdir(tmp_path)
    policy = read_policy(None, environ)
    assert policy.allow_hosts == ()
    (line,) = said_of(policy, None, str(tmp_path))
    assert f"{name} lies in the project and is not used" in line


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646])
def test_an_own_policy_that_others_can_write_is_refused(environ, mode):
    own(environ).chmod(mode)
    with pytest.raises(PolicyError, match="can be written by others"):
        read_policy(None, environ)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_an_own_policy_of_somebody_else_is_refused(environ):
    os.chown(own(environ), 12345, 12345)
    with pytest.raises(PolicyError, match="can be written by others"):
        read_policy(None, environ)


def test_allowing_everything_is_said_at_the_start_and_at_the_end(environ, tmp_path):
    policy = read_policy(None, environ, allow_all=True)
    assert policy.allow_all
    assert "NOTHING IS DENIED" in next(said_of(policy, None, str(tmp_path)))
    assert "nothing was denied" in next(said_at_the_end(policy))
    assert list(said_at_the_end(Policy())) == []


def test_where_a_policy_is_looked_for_is_shown_as_people_write_it():
    assert shown_own_path({"HOME": "/home/me"}) == "~/.config/hark/policy.toml"
    assert (
        shown_own_path({"HOME": "/home/me", "XDG_CONFIG_HOME": "/home/media"})
        == "/home/media/hark/policy.toml"
    )


def test_a_policy_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(PolicyError, match="cannot read policy"):
        load(str(tmp_path / "none.toml"))
    with pytest.raises(PolicyError, match="cannot read policy"):
        load(str(tmp_path))


def test_a_policy_option_that_is_empty_is_refused_with_what_to_do(environ):
    with pytest.raises(PolicyError, match="-policy is empty; name a file, or leave it out"):
        read_policy("", environ)
