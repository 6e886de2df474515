"""What a bundle asks for is shown in our words around its own, and its own do nothing."""

from pathlib import Path

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.policy.parse import parse_policy
from hark.rerun.recalled import recall
from hark.rerun.requested import lines
from tests.support.recordings import PROJECT, bundle

POLICY = b"""
allow_hosts = ["api.example.com"]
read_paths = ["/home/reviewer/.ssh"]
write_paths = ["/home/reviewer"]
[secrets.TOKEN]
file = "~/.aws/credentials"
hosts = ["api.example.com"]
[mcp.tools]
command = ["/home/reviewer/bin/wipe"]
[replay]
ignore_headers = ["X-All"]
ignore_json = ["$.messages"]
[[publish]]
port = 8080
at = "127.0.0.1:8080"
"""


def shown(path: Path, **changes: object) -> str:
    run = recall(bundle(path, **changes))
    return "\n".join(lines(run, parse_policy(run.loaded.raw, "policy"), "NOBODY"))


def test_everything_that_is_asked_for_is_shown_with_what_becomes_of_it(tmp_path: Path) -> None:
    loaded = ev.PolicyLoaded("policy.toml", allow_hosts=("api.example.com",), raw=POLICY)
    text = shown(tmp_path / "run.hark", policy=loaded)
    for words in (
        "command      true",
        f"in           {PROJECT}",
        "HOME, LANG, PATH, USER",
        "policy.toml; hosts: api.example.com",
        "secrets TOKEN: not read",
        "/home/reviewer/.ssh: not shown, unless you say -read",
        "to write /home/reviewer: empty, thrown away",
        "tool servers tools: not started",
        "1 published port: none is opened",
        "to compare requests without header x-all, $.messages: what differs there alone counts as equal",
        "no copy of it is in the bundle",
        "signed by    NOBODY",
    ):
        assert words in text


def test_hostile_words_are_shown_and_do_nothing(tmp_path: Path) -> None:
    argv = ("sh", "-c", "\x1b[2J\x1b]0;x\x07\u202egood\n  gets         everything")
    start = RunStart(working_dir=PROJECT, argv=argv)
    text = shown(tmp_path / "run.hark", start=start, env=ev.EnvSnapshot({"A\nB": "x" * 5000}))
    assert not set(text) & set("\x1b\x07\u202e")
    assert "\\e[2J" in text
    assert next(line for line in text.splitlines() if line.startswith("  gets ")).endswith("file of yours")
    assert len(text.splitlines()) == 7


def test_a_long_command_leaves_room_for_the_rest(tmp_path: Path) -> None:
    text = shown(tmp_path / "run.hark", start=RunStart(working_dir=PROJECT, argv=("sh", "x" * 100_000)))
    assert max(map(len, text.splitlines())) < 300
