"""`hark run -follow-policy`: what may be reached changes while the agent runs, by the operator's hand."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.raw import echo, raw_server
from tests.fakes.upstream import serving

pytestmark = pytest.mark.e2e

SECRET = "sk-live-3f9a1c77e0b24d58"
NARROW = 'allow_hosts = ["api.example"]\n'
WIDE = 'allow_hosts = ["api.example", "late.example"]\n'


def outside(at: Desk, text: str) -> Path:
    """Put a policy where the agent cannot write, owned by the user; whole, whenever somebody reads it."""
    path = at.project.parent / "policy.toml"
    new = path.with_suffix(".new")
    new.write_text(text)
    if os.geteuid() == 0:
        os.chown(new, at.user.uid, at.user.gid)
    return new.replace(path)


def begin(at: Desk, *words: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start a run and return it with the first line that the agent printed."""
    run = at.start("run", "-o", at.bundle, *words)
    assert run.stdout is not None
    return run, run.stdout.readline().decode().strip()


def test_a_host_that_is_added_can_be_reached_and_one_that_is_taken_away_cannot(at: Desk):
    script = (
        "curl -sS https://api.example/first; echo;"
        "until curl -s https://late.example/then; do sleep 0.1; done;"
        "curl -sS https://api.example/over; echo $?"
    )
    with serving("api.example", "late.example") as server:
        roots = at.write("roots.pem", server.ca_pem)
        policy = outside(at, NARROW)
        words = [f"-policy={policy}", "-follow-policy", f"-upstream-ca={roots}"]
        words += [f"-upstream=api.example={server.address}"]
        rules = f'[[allow]]\nhost = "late.example"\nupstream = "{server.address}"\n'
        run, first = begin(at, *words, "--", "sh", "-c", script)
        assert first == "GET /first 0"
        policy.write_text(rules)
        out, err = run.communicate(timeout=60)
    assert out.decode() == "GET /then 06\n", err.decode()  # 6: curl could not resolve it any more
    assert f"hark: {policy} changed, and what may be reached with it" in err.decode()
    assert "hark: denied late.example" in err.decode()
    assert '[[allow]]\nhost = "api.example"\n' in err.decode()
    assert 'host = "late.example"' not in err.decode()  # it was denied once, and is allowed by now
    assert "VERIFIED" in at.verdict()
    loaded = at.events("PolicyLoaded")
    assert [event["raw"]["text"] for event in loaded] == [NARROW, rules]


def test_a_connection_that_is_not_allowed_any_more_is_ended_with_the_reason(rootless: Desk):
    code = """
import socket as net
s = net.create_connection(("db.example", 5432))
s.sendall(b"ping"); print(s.recv(4).decode(), flush=True)
try: print("got", s.recv(10))
except ConnectionResetError: print("reset")
"""
    with raw_server(echo) as server:
        rule = '[[allow]]\nhost = "db.example"\nport = 5432\nprotocol = "tcp"\nupstream = '
        policy = outside(rootless, rule + f'"{server.address}"\n')
        run, first = begin(
            rootless, f"-policy={policy}", "-follow-policy", "--", rootless.user.python, "-c", code
        )
        assert first == "ping"
        policy.write_text("")
        out, err = run.communicate(timeout=60)
    assert out == b"reset\n", err.decode()
    assert (
        "the connection to db.example:5432 was ended: host db.example is not in allow_hosts" in err.decode()
    )
    ends = [event for event in rootless.events("TunnelData") if event["end"]]
    assert {event["error"] for event in ends} == {"host db.example is not in allow_hosts"}


def test_a_bad_file_changes_nothing_and_is_told_of(rootless: Desk):
    policy = outside(rootless, NARROW)
    script = "echo begun; read -r _; curl -sS https://late.example/; true"
    run = rootless.start(
        *("run", "-o", rootless.bundle, f"-policy={policy}", "-follow-policy", "--", "sh", "-c", script),
        stdin=subprocess.PIPE,
    )
    assert run.stdout is not None
    assert run.stderr is not None
    assert run.stdout.readline() == b"begun\n"
    policy.write_text("allow_hosts = everything\n")
    told = run.stderr.readline().decode()
    while "policy" not in told:
        told = run.stderr.readline().decode()
    assert told.startswith(f"hark: the policy stays as it was: {policy}")
    _, err = run.communicate(b"\n", timeout=60)
    assert run.returncode == 0
    assert b"Traceback" not in err
    assert len(rootless.events("PolicyLoaded")) == 1


@pytest.mark.parametrize("where", ["project", "granted", "linked"])
def test_a_policy_that_the_agent_could_write_to_is_not_followed(rootless: Desk, where: str):
    options = []
    if where == "project":
        policy = rootless.write("sub/policy.toml", NARROW)
    else:
        folder = rootless.project.parent / "conf"
        folder.mkdir()
        policy = folder / "policy.toml"
        policy.write_text(NARROW)
        for path in (folder, policy):
            os.chown(path, rootless.user.uid, rootless.user.gid)
    if where == "granted":
        options = [f"-write={policy.parent}"]
    if where == "linked":
        os.link(policy, rootless.project / "innocent.txt")
    ended = rootless.run(f"-policy={policy}", "-follow-policy", *options, "--", "true")
    assert ended.returncode == 125
    assert "agent" in ended.stderr
    assert "Traceback" not in ended.stderr
    if where != "granted":  # the control: without following it, that is no hindrance
        ok(rootless.run(f"-policy={policy}", "--", "true"))


WRITE = """
import time
print("begun", flush=True)
input()
open("conf/policy.toml", "w").write("the agent's")
"""


def test_the_control_a_policy_in_the_project_is_the_agents_once_its_folder_is_replaced(rootless: Desk):
    policy = rootless.write("conf/policy.toml", NARROW)
    words = ["run", "-o", rootless.bundle, f"-policy={policy}", "--", rootless.user.python, "-c", WRITE]
    run = rootless.start(*words, stdin=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline() == b"begun\n"
    policy.parent.rename(rootless.project / "before")  # what protected the old file goes with its folder
    policy.parent.mkdir()
    policy.write_text(WIDE)
    for path in (policy.parent, policy):
        os.chown(path, rootless.user.uid, rootless.user.gid)
    run.communicate(b"\n", timeout=60)
    assert policy.read_text() == "the agent's"  # what following it would have read


def test_nothing_to_follow_is_said(rootless: Desk):
    ended = rootless.run("-follow-policy", "--", "true")
    assert ended.returncode == 125
    assert "-follow-policy has nothing to follow" in ended.stderr


def test_the_callers_own_policy_is_followed_too(rootless: Desk):
    own = rootless.project.parent / "config" / "hark" / "policy.toml"
    own.parent.mkdir(parents=True, mode=0o700)
    own.write_text(NARROW)
    for path in (own.parent.parent, own.parent, own):
        os.chown(path, rootless.user.uid, rootless.user.gid)
    run, first = begin(rootless, "-follow-policy", "--", "sh", "-c", "echo begun; sleep 3")
    assert first == "begun", run.communicate(timeout=60)
    own.write_text(WIDE)
    _, err = run.communicate(timeout=60)
    assert f"hark: {own} changed" in err.decode()
    assert [event["raw"]["text"] for event in rootless.events("PolicyLoaded")] == [NARROW, WIDE]


def test_a_change_that_holds_the_value_of_a_secret_leaves_the_policy_in_force(at: Desk):
    secret = '[secrets.KEY]\nenv = "REAL"\nhosts = ["api.example"]\n'
    at.env["REAL"] = SECRET
    policy = outside(at, NARROW + secret)
    script = "echo begun; until curl -s https://late.example/then; do sleep 0.1; done"
    with serving("late.example") as server:
        roots = at.write("roots.pem", server.ca_pem)
        wide = f'{NARROW}{secret}[[allow]]\nhost = "late.example"\nupstream = "{server.address}"\n'
        words = [f"-policy={policy}", "-follow-policy", f"-upstream-ca={roots}"]
        run, first = begin(at, *words, "--", "sh", "-c", script)
        assert first == "begun"
        with run:
            policy.write_text(f"{wide}# not {SECRET}\n")
            assert run.stderr is not None
            lines = iter(run.stderr.readline, b"")
            said = next(line.decode() for line in lines if b"stays as it was" in line)
            policy.write_text(wide)  # the control: the same without it is taken
            out, err = run.communicate(timeout=60)
    assert f"{policy}:8: a comment holds the value of secrets.KEY" in said
    assert out.decode() == "GET /then 0", err.decode()
    assert [event["raw"]["text"] for event in at.events("PolicyLoaded")] == [NARROW + secret, wide]
    assert SECRET.encode() not in at.bundle.read_bytes()
