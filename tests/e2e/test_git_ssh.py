"""git and ssh inside: git@ addresses go over https, the system's ssh settings hold, ~/.ssh is nowhere."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.e2e.test_clients import Everything
from tests.fakes.registries import git_host, git_repository
from tests.fakes.upstream import Call, serving

pytestmark = pytest.mark.e2e

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


def test_a_git_address_over_ssh_becomes_a_request_that_is_judged(at: Desk):
    at.write("policy.toml", 'allow_hosts = ["github.com"]\n[git]\nhttps = ["github.com"]\n')
    script = "git ls-remote --get-url git@github.com:x/y; git ls-remote --get-url git@elsewhere.example:x/y"
    ended = ok(at.run("-policy=policy.toml", "--", "sh", "-c", script))
    assert ended.stdout == "https://github.com/x/y\ngit@elsewhere.example:x/y\n"


def private(backend: Callable[[Call], None]) -> Callable[[Call], None]:
    """The same host, which lets in only who brings the token."""
    wanted = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()

    def answer(call: Call) -> None:
        if call.headers.get("Authorization") == wanted:
            backend(call)
        else:
            call.reply(401, headers=[("WWW-Authenticate", 'Basic realm="git"')])

    return answer


def test_a_private_repository_named_by_its_ssh_address_is_cloned_with_a_token_that_stays_outside(
    at: Desk, tmp_path: Path
):
    content = git_repository(tmp_path)
    with serving("git.example") as server:
        server.routes = Everything(private(git_host(tmp_path)))
        policy = '[git]\nhttps = ["git.example"]\n[secrets.GIT_TOKEN]\nhosts = ["git.example"]\n'
        options = at.toward(server, "git.example", policy=policy)
        at.env |= {"GIT_TOKEN": TOKEN}
        script = "git clone -q git@git.example:repo.git && env | grep TOKEN; grep -r hark repo/.git/config"
        ended = at.run(*options, "--", "sh", "-c", script)
        assert (at.project / "repo" / "data.bin").read_bytes() == content, ended.stderr
        assert TOKEN not in ended.stdout + ended.stderr
        assert "VERIFIED" in at.verdict()
        assert TOKEN.encode() not in at.bundle.read_bytes()
        at.bundle.unlink()
        # The control: without the secret the host says no.
        options = at.toward(server, "git.example", policy='[git]\nhttps = ["git.example"]\n')
        refused = at.run(*options, "--", "git", "clone", "-q", "git@git.example:repo.git", "again")
        assert refused.returncode == 128
        assert not (at.project / "again").exists()


def test_ssh_reads_the_systems_settings_and_nothing_of_the_users(at: Desk):
    home = at.project.parent / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("precious")
    at.env |= {"HOME": str(home)}
    ended = ok(
        at.run(
            "--",
            "sh",
            "-c",
            "ssh -G host.example | grep -c . ; ls -A ~; stat -c %u /etc/ssh/ssh_config; id -u",
        )
    )
    count, owner, user = ended.stdout.split()
    assert int(count) > 10
    assert owner == user
    assert "Bad owner" not in ended.stderr


def test_an_ssh_connection_that_no_rule_allows_is_refused_at_once_and_named(rootless: Desk):
    ended = rootless.run("--", "ssh", "-o", "BatchMode=yes", "git@host.example")
    assert ended.returncode == 255
    assert "hark: denied host.example" in ended.stderr
