"""A fork as a program: what it is begun as, and what is read of what it said."""

import json
import sys
from pathlib import Path

import pytest

from hark.fork import apart


def test_it_is_begun_without_the_current_directory_among_its_imports() -> None:
    words = apart.command(["-at", "9"], "-odd.hark")
    assert words == (
        sys.executable, "-P", "-m", "hark.cli.main", "fork", "-json", "-at", "9", "--", "-odd.hark",
    )  # fmt: skip


def test_the_verdict_is_the_last_line_that_it_printed(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text(f"odd\n{json.dumps({'verdict': 'FORKED', 'why': None})}\n")
    assert apart.verdict(str(path)) == {"verdict": "FORKED", "why": None}


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"verdict": 3}', '{"verdict": "FORKED"'])
def test_what_is_no_verdict_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answer"
    path.write_text(text)
    assert apart.verdict(str(path)) == {}


def test_the_complaint_is_harks_last_sentence_among_the_agents_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"hark: first\nagent \xff\n" + b"x" * 100_000 + b"\nhark: last words\nagent: hark: no\n")
    assert apart.complaint(str(log), 4) == "last words"
    log.write_bytes(b"nothing of ours\n")
    assert apart.complaint(str(log), 4) == "hark fork ended with exit code 4 and without a verdict"


def test_how_long_it_was_waited_for_is_said() -> None:
    assert apart.late(30) == "no answer in 30 s"
