"""`hark replay`'s command line: what reaches the replay, and where its words go."""

import json

import pytest

from hark.cli.main import entry
from hark.errors import ConfinementError, PolicyError, RecordError, ReplayError
from hark.rerun.restaging import Given
from tests.support.recordings import bundle


class FakeJudgement:
    """As `hark.rerun.judging.Judgement`, as far as the command looks."""

    exit_code = 1

    def lines(self):
        return ["REPLAY-DIVERGED: \x1b[31mred"]

    def record(self):
        return {"verdict": "REPLAY-DIVERGED", "why": "\x1b"}


@pytest.fixture
def seen(monkeypatch):
    calls = []

    def fake(asked, environ, *, say, ask, meanwhile):
        calls.append((asked, ask))
        return "course"

    monkeypatch.setattr("hark.rerun.replaying.replay", fake)
    monkeypatch.setattr("hark.rerun.judging.judge", lambda course: FakeJudgement())
    return calls


def test_every_option_reaches_the_replay(seen, tmp_path):
    path = bundle(tmp_path / "run.hark")
    words = [
        "-policy",
        "p",
        "-read",
        "r",
        "--read=s",
        "-write",
        "w",
        "-workdir",
        "d",
        "-keep",
        "k",
        "-o",
        "o",
    ]
    words += ["-key", "y", "-trusted-keys", "t", "-trust-bundle", "-realtime", "-truncated"]
    assert entry(["replay", *words, path]) == 1
    asked, ask = seen[0]
    assert asked.given == Given("p", ("r", "s"), ("w",), "d")
    assert (asked.bundle, asked.keep, asked.output, asked.key) == (path, "k", "o", "y")
    assert (asked.trusted_keys, asked.trust, asked.realtime, asked.truncated) == ("t", True, True, True)
    assert ask is None


def test_the_verdict_is_a_remark_and_does_nothing_to_the_terminal(seen, tmp_path, capfd):
    entry(["replay", bundle(tmp_path / "run.hark")])
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "hark: REPLAY-DIVERGED: \\e[31mred\n"


def test_json_has_standard_output_for_itself(seen, tmp_path, capfd, monkeypatch):
    import os

    def talking(asked, environ, *, say, ask, meanwhile):
        os.write(1, b"the agent's\n")

    monkeypatch.setattr("hark.rerun.replaying.replay", talking)
    assert entry(["replay", "-json", bundle(tmp_path / "run.hark")]) == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["verdict"] == "REPLAY-DIVERGED"
    assert "the agent's\n" in err


@pytest.mark.parametrize(
    "words", [["replay"], ["replay", "-o"], ["replay", "gone.hark"], ["replay", "a", "b"]]
)
def test_a_command_line_that_makes_no_sense_is_usage(words, capsys):
    assert entry(words) == 2
    assert capsys.readouterr().err.startswith("hark: ")


@pytest.mark.parametrize(
    ("error", "code"),
    [(PolicyError("p"), 2), (ConfinementError("c"), 4), (RecordError("r"), 4), (ReplayError("m"), 4)],
)
def test_no_code_of_a_run_is_a_replays(seen, tmp_path, monkeypatch, capsys, error, code):
    def fails(*_args, **_named):
        raise error

    monkeypatch.setattr("hark.rerun.replaying.replay", fails)
    assert entry(["replay", bundle(tmp_path / "run.hark")]) == code
    assert capsys.readouterr().err == f"hark: {error}\n"
