"""`hark doctor` prints what the launcher's probes found, and fails unless all of it is ok."""

import json

import pytest

from hark.cli.main import entry
from hark.repeatable import shim_library
from launcher import doctor
from launcher.doctor import Finding, State

CLOCK = Finding("clock", State.OK, "clock and randomness")
GOOD = Finding("Landlock", State.OK, "Landlock ABI 7")
BAD = Finding("seccomp", State.MISSING, "set this")
LESS = Finding("clock", State.LESS, "no compiler")
UNSURE = Finding("network", State.UNKNOWN, "could not be tried")


@pytest.fixture(autouse=True)
def _no_library(monkeypatch):
    monkeypatch.setattr(shim_library, "found", lambda _: CLOCK)


@pytest.mark.parametrize(
    ("findings", "code"),
    [((GOOD,), 0), ((GOOD, BAD), 1), ((GOOD, UNSURE), 1), ((GOOD, GOOD), 0), ((GOOD, LESS), 0)],
)
def test_only_a_machine_where_everything_is_ok_passes(monkeypatch, capsys, findings, code):
    monkeypatch.setattr(doctor, "check", lambda: findings)
    assert entry(["doctor"]) == code
    lines = capsys.readouterr().out.splitlines()
    for line, finding in zip(lines, (*findings, CLOCK), strict=True):
        assert line.startswith(finding.state.value)
        assert finding.words in line


def test_what_is_more_than_a_line_is_printed_below_it(monkeypatch, capsys):
    finding = Finding("user namespaces", State.MISSING, "AppArmor", "one\ntwo")
    monkeypatch.setattr(doctor, "check", lambda: (finding,))
    assert entry(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[1:-1] == ["    one", "    two"]


def test_json_has_every_field_and_the_same_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "check", lambda: (GOOD, BAD))
    assert entry(["doctor", "-json"]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found[1] == {"name": "seccomp", "state": "missing", "words": "set this", "fix": ""}
    assert found[0]["state"] == "ok"
