"""`hark bisect`'s command line: what reaches the bisection, and where its words go."""

import json
from typing import Any

import pytest

from hark.bisect.counting import Rule
from hark.bisect.units import Level
from hark.bundle import events as ev
from hark.cli.main import entry
from hark.errors import ConfinementError, PatchError, PolicyError, ReplayError, UntrustedError
from tests.support.recordings import bundle


class FakeVerdict:
    """As `hark.bisect.verdict.Verdict`, as far as the command looks."""

    exit_code = 1

    def __init__(self, session: object) -> None:
        self.session = session

    def lines(self):
        return ["BISECTED \x1b[31mred"]

    def record(self):
        return {"verdict": "BISECTED"}


@pytest.fixture
def seen(monkeypatch):
    calls: list[Any] = []

    def fake(wanted, environ, *, say, ask):
        calls.append(wanted)
        return "session"

    monkeypatch.setattr("hark.bisect.session.bisect", fake)
    monkeypatch.setattr("hark.bisect.verdict.Verdict", FakeVerdict)
    return calls


def test_every_option_reaches_the_bisection_or_each_fork(seen, tmp_path):
    path = bundle(tmp_path / "run.hark")
    words = ["-at", "12", "-until", "denied", "-by", "word", "-search", "probable", "-jobs", "3"]
    words += ["-max-runs", "40", "-trials", "5", "-tolerate", "2", "-model", "large", "-set", "/a=1"]
    words += ["-policy", "p", "-upstream", "a=b", "-upstream", "c=d", "-upstream-ca", "e", "-via-proxy"]
    words += ["-trust-bundle", "-trusted-keys", "t", "-read", "r", "-write", "w", "-workdir", "d", "-o", "o"]
    words += ["-timeout", "60"]
    assert entry(["bisect", *words, "-key", "y", path]) == 1
    (wanted,) = seen
    assert (wanted.at, wanted.until, wanted.finest, wanted.search) == ("12", "denied", Level.WORD, "probable")
    assert (wanted.rule, wanted.jobs, wanted.most, wanted.seconds) == (Rule(5, 2), 3, 40, 60)
    assert set(wanted.options) == {
        "-model=large", "-set=/a=1", "-policy=p", "-upstream=a=b", "-upstream=c=d", "-upstream-ca=e",
        "-via-proxy", "-trust-bundle", "-trusted-keys=t", "-read=r", "-write=w", "-workdir=d", "-key=y",
    }  # fmt: skip
    assert wanted.changes == ("-model=large", "-set=/a=1")
    replay = wanted.replay
    assert (replay.bundle, replay.output, replay.key, replay.trust) == (path, "o", "y", True)
    assert (replay.given.read, replay.given.write, replay.given.workdir) == (("r",), ("w",), "d")


def test_a_policy_alone_is_no_word_for_a_strangers_bundle(tmp_path, capsys, monkeypatch):
    """It is one for a replay, which asks nobody; the control beside it gives the word."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("hark.bisect.session.Forks", None)
    page = ((b"content-type", b"text/plain"),)
    exchange = [
        ev.LlmRequest("page.example", "GET", "/", exchange=1),
        ev.ResponseHead(exchange=1, status=200, raw_headers=page),
        ev.LlmResponseChunk(data=b"Hello there.", exchange=1),
        ev.LlmResponseEnd(200, exchange=1, raw_headers=page),
    ]
    denied = ev.DnsDecision("evil.example", allowed=False)
    path = bundle(tmp_path / "run.hark", *exchange, denied)
    policy = tmp_path / "policy.toml"
    policy.write_text('allow_hosts = ["page.example"]')
    words = ["bisect", "-at", "page.example/", "-until", "denied", "-policy", str(policy)]
    assert entry([*words, path]) == 4
    assert "it was not run" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()
    assert entry([*words, "-trust-bundle", path]) == 70  # there are no forks here, and it came to them


def test_without_options_it_is_one_trial_by_sentences(seen, tmp_path):
    assert entry(["bisect", "-at", "1", "-until", "denied", bundle(tmp_path / "run.hark")]) == 1
    (wanted,) = seen
    assert (wanted.rule, wanted.finest, wanted.search, wanted.options) == (
        Rule(1, 0),
        Level.SENTENCE,
        "ddmin",
        (),
    )


def test_the_verdict_is_a_remark_and_json_has_standard_output(seen, tmp_path, capsys):
    path = bundle(tmp_path / "run.hark")
    entry(["bisect", "-json", "-at", "1", "-until", "denied", path])
    out, err = capsys.readouterr()
    assert json.loads(out) == {"verdict": "BISECTED"}
    assert "hark: BISECTED \\e[31mred" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "hark bisect needs -at N, the message, and -until EXPR"),
        (["-at", "1"], "and -until EXPR"),
        (["-at", "1", "-until", "denied", "-by", "sentance"], "did you mean sentence?"),
        (["-at", "1", "-until", "denied", "-search", "x"], "-search is one of ddmin, probable"),
        (["-at", "1", "-until", "denied", "-timeout", "0"], "-timeout takes a number from 1 to"),
        (["-at", "1", "-until", "denied", "-jobs", "0"], "-jobs takes a number from 1 to 64"),
        (
            ["-at", "1", "-until", "denied", "-trials", "2", "-tolerate", "2"],
            "-tolerate takes a number from 0 to 1",
        ),
        (["-at", "1", "-until", "denied", "-set", "a"], "-set"),
    ],
)
def test_what_makes_no_sense_is_refused(seen, tmp_path, capsys, words, said):
    assert entry(["bisect", *words, bundle(tmp_path / "run.hark")]) == 2
    assert said in capsys.readouterr().err
    assert seen == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PolicyError("p"), 2),
        (PatchError("p"), 2),
        (ConfinementError("c"), 4),
        (UntrustedError("u"), 4),
        (ReplayError("r"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_end_it_with_their_code(monkeypatch, tmp_path, error, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("hark.bisect.session.bisect", fail)
    assert entry(["bisect", "-at", "1", "-until", "denied", bundle(tmp_path / "run.hark")]) == code
