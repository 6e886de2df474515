"""The recording of the demo is one: it parses, is small, and shows the demo's own commands."""

import json
import re
import sys
from pathlib import Path

import pytest

from demo import cast
from tests.support.docs import DEMO, blocks, normal, shown

ROOT = Path(__file__).resolve().parents[2]
CAST = ROOT / "docs" / "launch" / "demo.cast"


def commands(text: str) -> list[str]:
    """What stands behind a `$`, without what differs from run to run."""
    plain = re.sub(r"-seq \d+", "-seq <event>", text.replace("\r", ""))
    return [normal(line) for line in plain.split("\n") if line.startswith("$ ")]


def demo() -> list[str]:
    """The commands of the demo as README shows them, which tests/test_docs.py compares with what it does."""
    every = [one for block in blocks(ROOT, ROOT / "README.md") for one in shown_in(block.info, block.text)]
    (found,) = [one for one in every if one.command == DEMO]
    return [f"$ {DEMO}", *commands("\n".join(found.lines))]


def shown_in(info: tuple[str, ...], text: str) -> list:
    return shown(text) if info[:1] == ("console",) else []


def test_the_stored_recording_shows_the_commands_of_the_demo() -> None:
    head, *pieces = [json.loads(line) for line in CAST.read_text().splitlines()]
    assert (head["version"], head["command"]) == (2, DEMO)
    assert (head["width"], head["height"]) == (cast.COLUMNS, cast.ROWS)
    assert CAST.stat().st_size < cast.MAX_BYTES
    assert {kind for _, kind, _ in pieces} == {"o"}
    times = [at for at, _, _ in pieces]
    assert times == sorted(times)
    text = "".join(data for _, _, data in pieces)
    assert commands(text) == demo()
    assert len(demo()) > 8
    assert "REPLAY-EQUAL" in text
    assert "the real key stands in the record: no" in text


def test_what_a_program_shows_is_recorded_with_its_times_and_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = "print('ä', sys.stdout.isatty(), flush=True); time.sleep(1.5); print('b'); sys.exit(3)"
    monkeypatch.setattr(cast, "COMMAND", (sys.executable, "-c", f"import sys, time; {program}"))
    pieces: list[tuple[float, str]] = []
    assert cast.record(pieces) == 3
    assert "".join(text for _, text in pieces) == "ä True\r\nb\r\n"
    assert pieces[-1][0] - pieces[0][0] > 0.2


def test_a_demo_that_fails_leaves_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cast, "COMMAND", (sys.executable, "-c", "raise SystemExit(1)"))
    monkeypatch.setattr(sys, "argv", ["cast", str(tmp_path / "x.cast")])
    with pytest.raises(SystemExit, match="ended with 1, and nothing was written"):
        cast.main()
    assert list(tmp_path.iterdir()) == []
