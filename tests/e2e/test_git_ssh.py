"""git and ssh inside: git@ addresses go over https, the system's ssh settings hold, ~/.ssh is nowhere."""

import pytest

from tests.e2e.rig import Desk, ok

pytestmark = pytest.mark.e2e


def test_a_git_address_over_ssh_becomes_a_request_that_is_judged(at: Desk):
    at.write("policy.toml", 'allow_hosts = ["github.com"]\n[git]\nhttps = ["github.com"]\n')
    script = "git ls-remote --get-url git@github.com:x/y; git ls-remote --get-url git@elsewhere.example:x/y"
    ended = ok(at.run("-policy=policy.toml", "--", "sh", "-c", script))
    assert ended.stdout == "https://github.com/x/y\ngit@elsewhere.example:x/y\n"


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
