"""Credentials from programs and in files, end to end: the agent sees placeholders, the server the values."""

import os
from base64 import b64decode
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import serving

pytestmark = pytest.mark.e2e

SECRET = "sk-live-3f9a1c77e0b24d58"
HOST = "api.example.test"


def home_of(at: Desk) -> Path:
    """A home of the user's own, with a netrc in it."""
    home = at.project.parent / "home"
    home.mkdir()
    netrc = home / ".netrc"
    netrc.write_text(
        f"machine {HOST} login me password {SECRET}\nmachine b.example login me password other\n"
    )
    netrc.chmod(0o600)
    if os.geteuid() == 0:
        for path in (home, netrc):
            os.chown(path, at.user.uid, at.user.gid)
    at.env["HOME"] = str(home)
    return home


def policy(home: Path) -> str:
    return f'[secrets.PASSWORD]\ncommand = ["sh", "-c", "echo {SECRET[:8]}$TAIL"]\nmount = "{home}/.netrc"\n'


def test_a_file_is_seen_with_the_placeholder_and_a_real_client_logs_in_with_it(at: Desk):
    home = home_of(at)
    at.env["TAIL"] = SECRET[8:]
    with serving(HOST) as upstream:
        options = at.toward(upstream, HOST, policy=policy(home))
        script = f"cat ~/.netrc; curl -sS --netrc https://{HOST}/ >/dev/null"
        ended = ok(at.run(*options, "--", "sh", "-c", script))
    assert SECRET not in ended.stdout + ended.stderr
    assert "login me password sk-hark" in ended.stdout
    assert "machine b.example login me password other" in ended.stdout
    assert SECRET.encode() not in at.bundle.read_bytes()
    (seen,) = upstream.seen
    sent = seen.header("authorization") or ""
    assert b64decode(sent.removeprefix("Basic ")).decode() == f"me:{SECRET}"


def test_a_replay_shows_the_file_again_and_nobodys_value(at: Desk):
    home = home_of(at)
    at.env["TAIL"] = SECRET[8:]
    at.write("policy.toml", f'allow_hosts = ["{HOST}"]\n{policy(home)}')
    words = ("-policy", "policy.toml", "--", "sh", "-c", "cat ~/.netrc")
    first = ok(at.run(*words))
    unkept = at.bundle.with_name("unkept.hark")
    ok(at.hark("run", "-no-snapshot", "-o", str(unkept), *words))
    (home / ".netrc").unlink()
    again = ok(at.hark("replay", str(at.bundle)))
    assert "login me password sk-hark" in first.stdout
    assert again.stdout == first.stdout
    assert "not shown" not in again.stderr
    without = at.hark("replay", "-workdir", ".", str(unkept))
    assert "password" not in without.stdout, "the control: without a snapshot it is not kept"
    assert "are not shown" in without.stderr


@pytest.mark.parametrize("moved", [False, True])
def test_the_original_is_not_seen_where_its_directory_is_granted_either(at: Desk, moved: bool):
    home = home_of(at)
    at.env["TAIL"] = SECRET[8:]
    (home / "link").symlink_to(home / ".netrc")
    if moved:
        (home / ".netrc").rename(at.project / "netrc")
        (home / ".netrc").symlink_to(at.project / "netrc")
    at.write("policy.toml", f'allow_hosts = ["{HOST}"]\n{policy(home)}')
    script = "cat ~/.netrc ~/link; mv ~/.netrc ~/x; rm -f ~/.netrc; cat ~/.netrc; grep -r . ~ . 2>/dev/null"
    ended = at.run("-policy", "policy.toml", "-read", str(home), "--", "sh", "-c", script)
    assert "sk-hark" in ended.stdout
    assert SECRET not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("more", "argv", "says"),
    [
        (f'[env.set]\nOTHER = "{SECRET}"\n', ["true"], "policy.toml:5:1: env.set.OTHER holds"),
        (f"# the key was {SECRET}\n", ["true"], "policy.toml:4: a comment holds"),
        ('[env]\npass = ["OTHER"]\n', ["true"], "the agent's variable OTHER holds"),
        ("", ["echo", SECRET], "the command's arguments hold"),
        ("", ["true"], ""),
    ],
    ids=["env", "comment", "passed", "command", "control"],
)
def test_a_value_that_the_record_would_have_to_hold_refuses_the_run(rootless: Desk, more, argv, says):
    rootless.env |= {"REAL": SECRET, "OTHER": SECRET}
    secret = f'[secrets.KEY]\nenv = "REAL"\n{more}'
    rootless.write("policy.toml", f'allow_hosts = ["{HOST}"]\n{secret}')
    ended = ok(rootless.run("-policy=policy.toml", "--", *argv), 125 if says else 0)
    assert rootless.bundle.exists() is not bool(says)
    if says:
        said = f"hark: {says} the value of secrets.KEY, which neither agent nor record may have; "
        assert ended.stderr.startswith(said), ended.stderr
        assert ended.stderr.count("\n") == 1
        assert SECRET not in ended.stderr


def test_a_value_that_everybody_guesses_refuses_the_run_and_one_that_nobody_does_lets_it(rootless: Desk):
    rootless.write("policy.toml", 'allow_hosts = ["api.example.test"]\n[secrets.API_KEY]\n')
    rootless.env["API_KEY"] = "password1"
    refused = ok(rootless.run("-policy=policy.toml", "--", "true"), 125)
    assert "hark: secrets.API_KEY is easily guessed" in refused.stderr
    assert "password1" not in refused.stderr
    assert not rootless.bundle.exists()
    rootless.env["API_KEY"] = SECRET
    ok(rootless.run("-policy=policy.toml", "--", "true"))
