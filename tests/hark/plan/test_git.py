"""What git makes of the variables: asked of git itself."""

import os
import subprocess

import pytest

from hark.plan.git import variables
from hark.policy.model import HostRule, Secret, Surface

TOKEN = Secret("GH_TOKEN", "real-value-0123456789", "hark-placeholder", (HostRule("github.com"),))


def git(*words: str, env: dict[str, str], given: str = "") -> str:
    base = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words], check=True, capture_output=True, text=True, env=base | env, input=given, cwd="/"
    )
    return done.stdout


@pytest.mark.parametrize(
    "address",
    [
        "git@github.com:x/y",
        "github.com:x/y",
        "ssh://git@github.com/x/y",
        "ssh://git@github.com:22/x/y",
        "ssh://github.com/x/y",
        "git+ssh://git@github.com/x/y",
        "git://github.com/x/y",
        "https://github.com/x/y",
    ],
)
def test_every_address_of_the_host_becomes_https(address):
    env = variables(("gitlab.com", "github.com"), (), {})
    assert git("ls-remote", "--get-url", address, env=env) == "https://github.com/x/y\n"


@pytest.mark.parametrize(
    "address", ["git@github.com.evil.net:x/y", "git@other.example:x/y", "ssh://git@github.co/x"]
)
def test_an_address_of_another_host_stays_as_it_is(address):
    assert git("ls-remote", "--get-url", address, env=variables(("github.com",), (), {})) == f"{address}\n"


def test_git_is_answered_with_the_placeholder_of_the_secret_that_is_bound_to_the_host():
    env = variables(("github.com",), (TOKEN,), {}) | {"GH_TOKEN": TOKEN.placeholder}
    answer = git("credential", "fill", env=env, given="protocol=https\nhost=github.com\n\n")
    assert "username=x-access-token\npassword=hark-placeholder\n" in answer
    assert TOKEN.placeholder not in git("config", "--list", env=env)


@pytest.mark.parametrize(
    "secret",
    [
        Secret("T", "real-value-0123456789", "p", (HostRule("other.example"),)),
        Secret("T", "real-value-0123456789", "p", (HostRule("github.com", 8443),)),
        Secret("T", "real-value-0123456789", "p", (HostRule("github.com"),), surfaces=(Surface.HEADER,)),
    ],
)
def test_a_secret_that_may_not_go_there_in_basic_is_not_offered(secret):
    assert not any("credential" in value for value in variables(("github.com",), (secret,), {}).values())


def test_what_the_policy_sets_itself_stays():
    own = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "ann"}
    env = own | variables(("github.com",), (), own)
    assert git("config", "user.name", env=env) == "ann\n"
    assert git("ls-remote", "--get-url", "git@github.com:x", env=env) == "https://github.com/x\n"


def test_without_hosts_nothing_is_said():
    assert variables((), (TOKEN,), {}) == {}
