"""`hark run`'s command line: what reaches the run, and what is refused."""

import os
import sys

import pytest

from hark.cli import run as command
from hark.cli.main import entry
from hark.cli.spec import parse
from hark.plan.preparation import Options


@pytest.fixture
def seen(monkeypatch):
    calls: list[Options] = []

    def fake(options, environ, *, terminal, say, show):
        calls.append(options)
        say("recorded \x1b[31m nothing")
        show('host = "\x1b[31m"')
        return 42

    monkeypatch.setattr("hark.running.run.run", fake)
    return calls


def test_every_option_reaches_the_run_in_either_spelling(seen):
    words = [
        "run",
        "-policy",
        "p",
        "--o=b",
        "-key",
        "k",
        "-read",
        "r1",
        "--read",
        "r2",
        "-write=w",
        "-workdir",
        "d",
        "-wait-children",
    ]
    words += ["-upstream", "a=1", "-upstream", "b=2", "--upstream-ca", "c", "--", "prog", "-x", "--", "y"]
    assert entry(words) == 42
    assert seen == [
        Options(
            ("prog", "-x", "--", "y"), "p", "b", "k", ("r1", "r2"), ("w",), "d", ("a=1", "b=2"), ("c",), True
        )
    ]


def test_the_first_word_that_is_no_option_begins_the_command(seen):
    assert entry(["run", "-o", "b", "prog", "-policy", "theirs"]) == 42
    assert seen[0].argv == ("prog", "-policy", "theirs")
    assert seen[0].policy is None


@pytest.mark.parametrize("words", [["run"], ["run", "--"], ["run", "-polcy", "p", "--", "x"], ["run", "-o"]])
def test_a_command_line_that_makes_no_sense_is_refused_with_125(seen, capsys, words):
    assert entry(words) == 125
    assert capsys.readouterr().err.startswith("hark: ")
    assert seen == []


def test_what_a_run_says_goes_to_stderr_and_is_safe_to_show(seen, capsys):
    entry(["run", "--", "x"])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hark: recorded \\e[31m nothing\n" + 'host = "\\e[31m"\n'


def test_a_terminal_of_its_own_is_given_wherever_a_stream_is_the_callers(monkeypatch):
    for ours, expected in (((0, 1), True), ((0,), True), ((1,), True), ((2,), True), ((), False)):
        monkeypatch.setattr(os, "isatty", lambda fd, ours=ours: fd in ours)
        assert command._has_terminal() is expected


def test_the_table_reads_its_own_name():
    assert parse(command.SPEC, ["--", sys.executable]).command == (sys.executable,)
