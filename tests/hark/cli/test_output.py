"""Columns, colour and sizes."""

import io
import json
import os
import termios

import pytest

from hark.cli import output
from tests.hark.cli.program import hark


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 3, ""), ("äöü", 3, "äöü"), ("äöüß", 3, "äö…"),
        ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"),
        ("e\u0301e\u0301e", 3, "e\u0301e\u0301e"),
    ],
)  # fmt: skip
def test_text_is_cut_to_columns_as_a_terminal_counts_them(text, columns, shown):
    assert output.cut(text, columns) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (999_499, "999.5 kB"), (999_999, "1.0 MB"),
     (52_000_000, "52.0 MB"), (10**16, "10000.0 TB")],
)  # fmt: skip
def test_a_size_is_short(count, shown):
    assert output.size(count) == shown


def test_colour_is_for_terminals_that_did_not_ask_for_none(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, pipe = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True
    assert output.coloured(terminal)
    assert not output.coloured(pipe)
    monkeypatch.setenv("NO_COLOR", "")
    assert output.coloured(terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output.coloured(terminal)
    assert output.paint("x", output.RED, on=False) == "x"
    assert output.paint("x", output.RED, on=True) == "\x1b[31mx\x1b[0m"


def test_the_width_is_the_terminals_or_a_default(monkeypatch):
    widths = ("92", 92), ("1", output.MIN_WIDTH), ("wide", output.DEFAULT_WIDTH), ("0", output.DEFAULT_WIDTH)
    for given, width in widths:
        monkeypatch.setenv("COLUMNS", given)
        assert output.width(io.StringIO()) == width


@pytest.mark.parametrize(("columns", "width"), [(0, output.MIN_WIDTH), (30, output.MIN_WIDTH), (132, 132)])
def test_a_terminal_of_no_width_or_a_narrow_one_still_shows_the_last_column(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", "0")
    other, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, columns))
    with os.fdopen(terminal, "w") as stream:
        assert output.width(stream) == width
    os.close(other)


def test_a_remark_goes_to_standard_error(capsys):
    output.error_line("so it is")
    assert capsys.readouterr() == ("", "hark: so it is\n")


def test_what_is_said_reaches_the_terminal_escaped_and_on_one_line(capsys):
    hostile = "a\n\x1b[2J\x7f\x9b\u202e"
    output.say(hostile)
    output.error_line(hostile)
    assert capsys.readouterr() == (
        "a\\n\\e[2J\\x7f\\u009b\\u202e\n", "hark: a\\n\\e[2J\\x7f\\u009b\\u202e\n"
    )  # fmt: skip
    output.say_json({"text": hostile})
    said = capsys.readouterr().out
    assert said.removesuffix("\n").isprintable()
    assert json.loads(said) == {"text": hostile}


def test_no_command_lets_a_hostile_file_name_reach_the_terminal(tmp_path):
    hostile = tmp_path / "a\n\x1b[2J\x7f\x9b\u202e"
    hostile.mkdir()
    bundle, proof = hostile / "b.hark", hostile / "p.json"
    lines = [
        ("synth", "-o", bundle), ("synth", "-o", bundle), ("synth", "-o", hostile / "no" / "b"),
        ("keygen", "-out", hostile / "k"), ("keygen", "-out", hostile / "k"), ("keygen", "-out", hostile),
        ("verify", bundle), ("verify", "-json", bundle), ("verify", hostile), ("verify", hostile / "k"),
        ("verify", "-json", hostile / "k"), ("verify", "-key", bundle, bundle),
        ("redact", "-seq", "1", "-o", hostile / "r", bundle), ("redact", "-seq", "0", "-o", proof, bundle),
        ("prove", "-seq", "1", "-out", proof, bundle), ("prove", "-check", proof),
        ("prove", "-check", bundle),
        ("inspect", bundle), ("inspect", "-kind", hostile, bundle), ("inspect", "-seq", "999", bundle),
        ("inspect", hostile / "k"), ("ls",), ("gc", "-keep", hostile), (hostile,), ("version", hostile),
        ("doctor", hostile), ("run", "-key", hostile, "true"), ("run", "-policy", hostile / "no", "true"),
        ("run", "-o", hostile / "no" / "b", "true"),
    ]  # fmt: skip
    env = {"XDG_STATE_HOME": str(hostile), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    for words in lines:
        _, out, err = hark(*words, env=env)
        assert (out + err).replace("\n", "").isprintable(), words
        assert out or err
