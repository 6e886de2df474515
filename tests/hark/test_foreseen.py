"""`hark policy check` says what a run would refuse, in the words of the run."""

from pathlib import Path

import pytest

from hark.foreseen import refusals
from tests.support.policies import read


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("bin", "project", "data"):
        (tmp_path / name).mkdir()
    for program in ("bin/server", "project/server"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    return tmp_path


def foreseen(place: Path, text: str) -> list[tuple[int | None, str]]:
    environ = {"HOME": str(place), "PATH": f"{place}/bin:/usr/bin:/bin"}
    return list(refusals(read(text), environ, str(place / "project")))


def test_what_is_there_is_not_refused(place: Path):
    text = 'read_paths = ["~/data"]\nwrite_paths = ["~/data"]\n[mcp.m]\ncommand = ["server"]'
    assert foreseen(place, text) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('\nread_paths = ["~/none"]', 2, "read_paths names ~/none, which does not exist"),
        ('write_paths = [\n"/usr/lib"]', 2, "which belongs to the system"),
        ('write_paths = ["~"]', 1, "your home directory or above it"),
        ('[mcp.m]\ncommand = ["no-such-server"]', 1, "mcp.m: "),
        ('[mcp.m]\ncommand = ["~/project/server"]', 1, "where the agent may write"),
        ('write_paths = ["~/bin"]\n[mcp.m]\ncommand = ["~/bin/server"]', 2, "where the agent may write"),
        ('[mcp.m]\ncommand = ["server"]\nworkdir = "~/none"', 1, "is no directory"),
    ],
)
def test_what_a_run_would_refuse_is_said_with_its_line(place: Path, text: str, line: int, words: str):
    ((at, sentence),) = foreseen(place, text)
    assert at == line
    assert words in sentence
