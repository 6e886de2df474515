"""Policies as people use them: found, overruled, and judged request by request."""

import os
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.raw import echo, raw_server
from tests.fakes.upstream import serving

pytestmark = pytest.mark.e2e

HOST = "api.example.test"
NAMES = "getent hosts a.example.test >/dev/null && echo resolved"


def own_policy(at: Desk, text: str) -> Path:
    """The caller's own policy, where no agent sees anything."""
    made = at.write("moved.toml", text)
    path = at.project.parent / "config" / "hark" / "policy.toml"
    path.parent.mkdir(mode=0o700, parents=True)
    made.rename(path)
    if os.geteuid() == 0:
        for folder in (path.parent, path.parent.parent):
            os.chown(folder, at.user.uid, at.user.gid)
    return path


def test_the_callers_own_policy_is_found_announced_recorded_and_unseen(rootless: Desk):
    at = rootless
    at.write("hark.toml", 'allow_hosts = ["b.example.test"]')
    path = own_policy(at, 'allow_hosts = ["a.example.test"]')
    script = f"{NAMES}; getent hosts b.example.test; cat {path}; true"
    ended = ok(at.run("-read", str(path.parent.parent), "--", "sh", "-c", script))
    assert f"hark: policy {path} (no -policy was given)" in ended.stderr.splitlines()
    assert ended.stdout == "resolved\n"
    assert at.events("PolicyLoaded")[0]["source"] == str(path)


def test_what_a_run_without_a_policy_shows_allows_it_from_where_it_says_that_one_is_looked_for(
    rootless: Desk,
):
    at = rootless
    denied = ok(at.run("--", "sh", "-c", f"{NAMES}; true"))
    assert denied.stdout == ""
    path = at.project.parent / "config" / "hark" / "policy.toml"
    said, _, pasted = denied.stderr.partition(f"put this into {path}, or into a file that -policy names:\n")
    assert (said != denied.stderr, path.exists()) == (True, False)
    path.write_text(pasted)
    at.bundle.unlink()
    allowed = ok(at.run("--", "sh", "-c", NAMES))
    assert allowed.stdout == "resolved\n"


def test_allowing_everything_is_loud_recorded_and_shown_by_verify(at: Desk):
    ended = ok(at.run("--unsafe-allow-all", "--", "sh", "-c", NAMES))
    assert ended.stdout == "resolved\n"
    loud = [line for line in ended.stderr.splitlines() if line.startswith("hark: --unsafe-allow-all")]
    assert len(loud) == 2
    assert at.events("PolicyLoaded")[0]["source"] == "none, overruled by --unsafe-allow-all"
    assert any("--unsafe-allow-all" in note for note in at.events("Boundary")[0]["notes"])
    assert "UNSAFE: every host was allowed" in at.verdict()
    control = at.hark("run", "--", "sh", "-c", NAMES)
    assert control.returncode != 0
    assert "unsafe" not in control.stderr


def test_the_policy_that_is_derived_from_an_unsafe_run_allows_what_it_reached_and_nothing_else(at: Desk):
    fetch = f"curl -sS https://{HOST}/x"
    with serving(HOST) as web, raw_server(echo) as raw:
        roots = at.write("roots.pem", web.ca_pem)
        ways = [f"-upstream={HOST}={web.address}", f"-upstream=203.0.113.5={raw.address}"]
        ways.append(f"-upstream-ca={roots}")
        code = (
            "import socket; s = socket.create_connection(('203.0.113.5', 4711)); s.sendall(b'raw bytes');"
            "s.shutdown(socket.SHUT_WR); print(s.recv(9))"
        )
        script = f'{fetch} >/dev/null && echo fetched; python3 -c "{code}"'
        unsafe = ok(at.run("--unsafe-allow-all", *ways, "--", "sh", "-c", script))
        assert "`hark policy derive BUNDLE`" in unsafe.stderr
        derived = ok(at.hark("policy", "derive", at.bundle))
        at.write("derived.toml", derived.stdout)
        at.bundle.unlink()
        held = ok(at.run("-policy=derived.toml", *ways, "--", "sh", "-c", f"{script}; {NAMES} || echo no"))
    assert unsafe.stdout == "fetched\nb'raw bytes'\n"
    assert held.stdout == "fetched\nb'raw bytes'\nno\n"
    assert "hark: denied a.example.test" in held.stderr


def test_each_request_of_a_kept_connection_is_judged_by_method_and_path(at: Desk):
    with serving(HOST) as upstream:
        options = at.toward(upstream)
        rule = f'[[allow]]\nhost = "{HOST}"\nmethods = ["GET"]\npaths = ["/public/**"]\n'
        at.write("policy.toml", rule)
        url = f"https://{HOST}"
        script = (
            f"curl -s -o /dev/null -w '%{{http_code}} %{{num_connects}}\\n' --path-as-is {url}/public/a "
            f"--next -s -o /dev/null -w '%{{http_code}} %{{num_connects}}\\n' -X DELETE {url}/public/a "
            f"--next -s -o /dev/null -w '%{{http_code}} %{{num_connects}}\\n' --path-as-is {url}/public/../x "
            f"--next -s -w '%{{http_code}}\\n' {url}/secret"
        )
        redirect = f"-upstream={HOST}={upstream.address}"
        ended = ok(at.run(*options, redirect, "--", "sh", "-c", script))
    lines = ended.stdout.splitlines()
    assert lines[:3] == ["200 1", "403 0", "403 0"]
    assert 'paths = ["/secret"]' in lines
    assert lines[-1] == "403"
    assert [(seen.method, seen.path) for seen in upstream.seen] == [("GET", "/public/a")]
    assert "allows GET, not DELETE" in ended.stderr


def test_a_mistake_in_a_policy_is_told_with_its_place(rootless: Desk):
    rootless.write("policy.toml", '\n\n  alow_hosts = ["a.example"]\n')
    ended = ok(rootless.run("-policy", "policy.toml", "--", "true"), 125)
    words = "hark: policy.toml:3:3: alow_hosts is not a key of a policy; did you mean allow_hosts?\n"
    assert ended.stderr == words


def test_what_the_end_of_a_run_shows_can_be_pasted_at_the_end_of_the_policy_and_allows_it(at: Desk):
    code = (
        "import socket; s = socket.create_connection(('203.0.113.5', 4711)); s.sendall(b'raw bytes');"
        "s.shutdown(socket.SHUT_WR); print(s.recv(9))"
    )
    command = ["sh", "-c", f'curl -sS https://api.example/x; python3 -c "{code}"']
    with serving("api.example") as web, raw_server(echo) as raw:
        roots = at.write("roots.pem", web.ca_pem)
        at.write("policy.toml", '[limits]\ntime = "10m"\n')  # a table: what stands behind it belongs to it
        denied = at.run("-policy=policy.toml", "--", *command)
        assert denied.returncode != 0
        lead = "put this at the end of policy.toml:\n"
        assert lead in denied.stderr
        pasted = denied.stderr.partition(lead)[2]
        assert 'port = 4711\nprotocol = "tcp"\n' in pasted
        at.write("policy.toml", '[limits]\ntime = "10m"\n' + pasted)
        at.bundle.unlink()
        upstreams = [f"-upstream=api.example={web.address}", f"-upstream=203.0.113.5={raw.address}"]
        ended = ok(at.run("-policy=policy.toml", f"-upstream-ca={roots}", *upstreams, "--", *command))
    assert ended.stdout.endswith("b'raw bytes'\n")
    assert "denied" not in ended.stderr


def test_check_warns_of_what_run_refuses(at: Desk):
    at.write("policy.toml", 'read_paths = ["/no/such/place"]\n')
    said = "read_paths names /no/such/place, which does not exist"
    refused = at.run("-policy=policy.toml", "--", "true")
    assert (refused.returncode, said in refused.stderr) == (125, True)
    assert said in at.hark("policy", "check", "policy.toml").stdout
