"""Generated files name the run and not the host."""

import pytest

from launcher.etc import generated, user_name
from launcher.identity import Identity
from launcher.plan import Plan

ME = Identity(1000, 1001, changed=False)


def made(env: dict[str, str], home: str = "/home/u", files: dict[str, bytes] | None = None) -> Plan:
    return Plan(argv=("a",), executable="/a", workdir="/", env=env, grants=(), home=home, files=files or {})


def test_the_user_list_has_the_agent_and_nobody_elses_name() -> None:
    passwd = generated(made({"USER": "ann", "SHELL": "/bin/zsh"}), ME)["/etc/passwd"].decode()
    names = [line.split(":")[0] for line in passwd.splitlines()]
    assert names == ["root", "ann", "nobody"]
    assert "ann:x:1000:1001::/home/u:/bin/zsh" in passwd


@pytest.mark.parametrize("name", ["root", "a:b", "a\nroot", "", "-x", "Ünï"])
def test_a_name_that_is_roots_or_no_name_is_replaced(name: str) -> None:
    assert user_name(made({"USER": name}), ME) == "agent"


def test_roots_agent_does_not_bear_roots_name() -> None:
    assert user_name(made({"USER": "ann"}), Identity(65533, 65533, changed=True)) == "agent"


@pytest.mark.parametrize("home", ["/a:b", "/a\nroot:x:0:0", "relative"])
def test_a_home_that_would_break_the_line_is_not_written(home: str) -> None:
    passwd = generated(made({}, home), ME)["/etc/passwd"].decode()
    assert len(passwd.splitlines()) == 3
    assert "agent:x:1000:1001::/:/bin/sh" in passwd


def test_what_the_plan_brings_is_not_generated() -> None:
    assert "/etc/resolv.conf" not in generated(made({}, files={"/etc/resolv.conf": b""}), ME)
    assert b"nameserver 10.200.1.1" in generated(made({}), ME)["/etc/resolv.conf"]


def test_a_replay_shows_the_ids_and_the_name_that_were_recorded() -> None:
    shown = generated(made({"USER": "ann"}), Identity(65533, 65533, changed=True, seen=(1000, 100)))
    assert b"ann:x:1000:100::/home/u:/bin/sh\n" in shown["/etc/passwd"]
    assert b"ann:x:100:\n" in shown["/etc/group"]
