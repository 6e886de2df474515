"""Everything that can be refused is refused before a process exists, in a sentence with the next step."""

import os
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan.command import CommandError
from hark.plan.preparation import Options, prepare
from launcher.plan import Access


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "home" / "app"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    return project


def ready(place: Path, *argv: str, environ: dict[str, str] | None = None, **options):
    env = {"HOME": str(place.parent), "PATH": "/usr/bin:/bin", "LANG": "C"} | (environ or {})
    return prepare(Options(argv or ("/bin/true",), **options), env, terminal=False)


def policy(place: Path, text: str) -> str:
    (place / "policy.toml").write_text(text)
    return "policy.toml"


def test_without_a_policy_nothing_may_be_reached_and_the_project_is_writable(place):
    prepared = ready(place)
    assert prepared.policy.allow_hosts == ()
    assert [g.path for g in prepared.plan.grants if g.access is Access.WRITE] == [str(place)]
    assert prepared.plan.workdir == str(place)


def test_the_agent_gets_a_placeholder_and_never_the_value(place):
    value = "sk-test-0123456789abcdefghij"
    name = policy(place, 'allow_hosts = ["api.example"]\n[secrets.KEY]\nenv = "REAL"\n')
    prepared = ready(place, policy=name, environ={"REAL": value})
    (secret,) = prepared.secrets
    assert secret.value == value
    assert prepared.plan.env["KEY"] == secret.placeholder
    assert value not in repr(prepared)
    assert value not in "".join(prepared.plan.env.values())


def test_the_policy_in_the_project_cannot_be_rewritten_for_the_next_run(place):
    prepared = ready(place, policy=policy(place, ""))
    assert str(place / "policy.toml") in prepared.plan.protected


def test_a_file_that_holds_a_secret_is_masked_in_the_project(place):
    (place / "token.txt").write_text("sk-test-0123456789abcdefghij\n")
    text = f'allow_hosts = ["api.example"]\n[secrets.KEY]\nfile = "{place}/token.txt"\n'
    assert str(place / "token.txt") in ready(place, policy=policy(place, text)).plan.masked


def test_harks_own_key_and_bundles_are_hidden_where_the_caller_keeps_them(place):
    hidden = ready(place, environ={"XDG_STATE_HOME": str(place / "state")}).plan.hidden
    assert hidden == (f"{place.parent}/.config/hark", f"{place}/state/hark")


@pytest.mark.parametrize("option", ["read", "write"])
def test_a_grant_of_what_is_never_shown_is_refused_and_not_ignored(place, option):
    own = place.parent / ".config" / "hark"
    (own / "sub").mkdir(parents=True)
    for path in (str(own), "~/.config/hark", str(own / "sub")):
        with pytest.raises(
            PolicyError, match=f"-{option} names .* is hark's own and which no agent is shown"
        ):
            ready(place, **{option: (path,)})
    text = f'{option}_paths = ["~/.config/hark"]'
    with pytest.raises(PolicyError, match=f"{option}_paths names ~/.config/hark, which is hark's own"):
        ready(place, policy=policy(place, text))
    ready(place, **{option: (str(own.parent),)})  # around it: it stays hidden


def test_grants_carry_where_they_come_from(place, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    prepared = ready(place, read=(str(tmp_path / "in"),), write=(str(tmp_path / "out"),))
    assert [(g.path, g.access, g.why) for g in prepared.plan.grants if g.why.startswith("-")] == [
        (str(tmp_path / "in"), Access.READ, "-read"),
        (str(tmp_path / "out"), Access.WRITE, "-write"),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workdir": "/no/such/dir"}, "is not a directory"),
        ({"workdir": "/etc"}, "belongs to the system"),
        ({"policy": "none.toml"}, r"cannot read policy none\.toml: no such file"),
        ({"read": ("/no/such/path",)}, "does not exist"),
        ({"upstreams": ("api.example",)}, "is not HOST=ADDR"),
        ({"upstream_roots": ("none.pem",)}, r"cannot read -upstream-ca none\.pem"),
    ],
)
def test_what_makes_no_sense_is_refused(place, options, words):
    with pytest.raises(PolicyError, match=words) as caught:
        ready(place, **options)
    assert caught.value.exit_code == 125


def test_a_command_that_does_not_exist_is_refused_as_a_shell_would(place):
    with pytest.raises(CommandError) as caught:
        ready(place, "no-such-command")
    assert caught.value.exit_code == 127


def test_home_itself_is_no_project(place, monkeypatch):
    monkeypatch.chdir(place.parent)
    with pytest.raises(PolicyError, match="home directory"):
        ready(place)


def test_a_secret_that_is_not_set_is_named(place):
    name = policy(place, 'allow_hosts = ["api.example"]\n[secrets.KEY]\nenv = "UNSET"\n')
    with pytest.raises(PolicyError, match="UNSET is not set"):
        ready(place, policy=name)


def test_the_callers_environment_does_not_reach_the_agent(place):
    env = ready(place, environ={"AWS_SECRET_ACCESS_KEY": "x", "SSH_AUTH_SOCK": "/s"}).plan.env
    assert not {"AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"} & env.keys()
    assert os.path.isabs(env["HOME"])


def test_a_command_line_that_holds_a_secret_is_refused_without_showing_it(place):
    value = "sk-test-0123456789abcdefghij"
    name = policy(place, 'allow_hosts = ["api.example"]\n[secrets.KEY]\nenv = "REAL"\n')
    with pytest.raises(PolicyError, match=r"arguments hold the value of secrets\.KEY") as caught:
        ready(place, "/bin/echo", f"--key={value}", policy=name, environ={"REAL": value})
    assert value not in str(caught.value)


def test_the_active_environment_can_be_used_by_a_shell_inside(place, tmp_path):
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
    environ = {"VIRTUAL_ENV": str(venv), "PATH": f"{venv}/bin:/usr/bin:/bin"}
    plan = ready(place, "/bin/sh", environ=environ).plan
    assert str(venv) in [grant.path for grant in plan.grants]
    assert plan.env["PATH"].startswith(f"{venv}/bin:")


def test_the_key_that_signs_is_hidden_wherever_it_lies(place):
    (place / "mykey").write_text("x")
    assert str(place / "mykey") in ready(place, key="mykey").plan.hidden
    (place / "second").hardlink_to(place / "mykey")
    with pytest.raises(PolicyError, match="second name"):
        ready(place, key="mykey")


def test_a_relative_xdg_directory_is_ignored_here_as_where_the_key_is_made(place):
    hidden = ready(place, environ={"XDG_CONFIG_HOME": "cfg", "XDG_STATE_HOME": "state"}).plan.hidden
    assert hidden == (f"{place.parent}/.config/hark", f"{place.parent}/.local/state/hark")


@pytest.mark.parametrize("option", ["policy", "upstream_roots"])
def test_a_pipe_in_the_place_of_a_file_does_not_hang(place, option):
    os.mkfifo(place / "pipe")
    with pytest.raises(PolicyError, match="it is a pipe"):
        ready(place, **{option: "pipe" if option == "policy" else ("pipe",)})


def test_a_secret_too_short_to_tell_apart_is_refused_before_anything_starts(place):
    name = policy(place, 'allow_hosts = ["api.example"]\n[secrets.KEY]\nenv = "REAL"\n')
    with pytest.raises(PolicyError, match=r"secrets\.KEY has 3 characters"):
        ready(place, policy=name, environ={"REAL": "abc"})


def test_the_callers_proxy_is_used_only_where_that_is_asked_for(place):
    env = {"HTTPS_PROXY": "http://me:pass-word@proxy.example:3128"}
    prepared = ready(place, environ=env, via_proxy=True)
    assert [str(proxy) for proxy in prepared.proxies.all] == ["http://proxy.example:3128"]
    assert not any("pass-word" in value for value in prepared.plan.env.values())
    assert ready(place, environ=env).proxies is None


def test_a_listed_program_is_read_only_where_the_agent_may_write_and_only_there(place):
    (place / "tool").write_text("#!/bin/sh\n")
    (place / "tool").chmod(0o755)
    prepared = ready(place, policy=policy(place, f'exec = ["{place}/tool", "sh"]\n'))
    assert str(place / "tool") in prepared.plan.protected
    assert not any(path.startswith("/usr/") for path in prepared.plan.protected)
    assert prepared.plan.executables is not None
