"""`hark fork`'s command line: what reaches the fork, and where its words go."""

import json

import pytest

from hark.cli.main import entry
from hark.errors import ConfinementError, PatchError, PolicyError, RecordError, ReplayError
from tests.support.recordings import bundle


class FakeVerdict:
    """As `hark.fork.verdict.Verdict`, as far as the command looks."""

    exit_code = 0

    def lines(self):
        return ["FORKED \x1b[31mred"]

    def record(self):
        return {"verdict": "FORKED"}


@pytest.fixture
def seen(monkeypatch):
    calls = []

    def fake(wanted, environ, *, say, show, ask):
        calls.append(wanted)
        return "outcome"

    monkeypatch.setattr("hark.fork.forking.fork", fake)
    monkeypatch.setattr("hark.fork.verdict.judge", lambda outcome: FakeVerdict())
    return calls


def test_every_option_reaches_the_fork(seen, tmp_path):
    path, patch = bundle(tmp_path / "run.hark"), tmp_path / "p.json"
    patch.write_text("{}")
    words = ["-at", "12", "-patch", str(patch), "-model", "large", "-set", "/a=1", "-set", "/b=x"]
    words += ["-policy", "p", "-upstream", "a=b", "-upstream-ca", "c", "-via-proxy", "-trust-bundle"]
    words += ["-read", "r", "-write", "w", "-workdir", "d", "-keep", "k", "-o", "o", "-key", "y"]
    assert entry(["fork", *words, "-trusted-keys", "t", path]) == 0
    (wanted,) = seen
    assert (wanted.at, wanted.patch, wanted.policy) == ("12", b"{}", "p")
    assert (wanted.rewrites.model, wanted.rewrites.sets) == ("large", (("/a", 1), ("/b", "x")))
    assert (wanted.outward.upstreams, wanted.outward.roots, wanted.outward.via_proxy) == (
        ("a=b",),
        ("c",),
        True,
    )
    replay = wanted.replay
    assert (replay.bundle, replay.keep, replay.output, replay.key) == (path, "k", "o", "y")
    assert (replay.trust, replay.trusted_keys, replay.given.policy) == (True, "t", None)
    assert (replay.given.read, replay.given.write, replay.given.workdir) == (("r",), ("w",), "d")


def test_the_verdict_is_a_remark_and_json_has_standard_output(seen, tmp_path, capfd):
    path = bundle(tmp_path / "run.hark")
    assert entry(["fork", "-at", "1", path]) == 0
    assert capfd.readouterr() == ("", "hark: FORKED \\e[31mred\n")
    assert entry(["fork", "-at", "1", "-json", path]) == 0
    assert json.loads(capfd.readouterr().out) == {"verdict": "FORKED"}


@pytest.mark.parametrize("words", [["fork"], ["fork", "x.hark"], ["fork", "-at", "1", "gone.hark"]])
def test_a_command_line_that_makes_no_sense_is_usage(words, capsys):
    assert entry(words) == 2
    assert capsys.readouterr().err.startswith("hark: ")


def test_a_patch_that_cannot_be_read_is_usage_too(seen, tmp_path, capsys):
    path = bundle(tmp_path / "run.hark")
    assert entry(["fork", "-at", "1", "-patch", "nope.json", path]) == 2
    assert capsys.readouterr().err == "hark: cannot read -patch nope.json: no such file or directory\n"
    assert seen == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PolicyError("p"), 2),
        (ConfinementError("c"), 4),
        (RecordError("r"), 4),
        (ReplayError("m"), 4),
        (PatchError("nothing matches"), 1),
    ],
)
def test_each_refusal_has_a_code_of_a_forks(seen, tmp_path, monkeypatch, capsys, error, code):
    def fails(*_args, **_named):
        raise error

    monkeypatch.setattr("hark.fork.forking.fork", fails)
    assert entry(["fork", "-at", "1", bundle(tmp_path / "run.hark")]) == code
    said = capsys.readouterr().err
    assert said == (
        "hark: FORK-UNPATCHED: nothing matches; nothing was started\n" if code == 1 else f"hark: {error}\n"
    )


def test_an_editor_makes_the_patch_where_none_is_named(seen, tmp_path, monkeypatch, capsys):
    path = bundle(tmp_path / "run.hark")
    monkeypatch.setenv("VISUAL", "sed -i s/one/two/")
    assert entry(["fork", "-at", "1", "-edit", path]) == 0
    assert seen[0].editor("say one") == "say two"
    assert entry(["fork", "-at", "1", "-edit", "-patch", path, path]) == 2
    assert "-patch or -edit" in capsys.readouterr().err
    assert entry(["fork", "-at", "1", path]) == 0
    assert [wanted.editor is None for wanted in seen] == [False, True]
