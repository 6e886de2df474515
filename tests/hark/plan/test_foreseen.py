"""`hark policy check` says what a run would refuse, in the words of the run."""

from pathlib import Path

import pytest

from hark.plan.foreseen import refusals
from tests.support.policies import read


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("bin", "project", "data"):
        (tmp_path / name).mkdir()
    for program in ("bin/server", "project/server"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    return tmp_path


ALLOW = 'allow_hosts = ["a.example"]\n'


def foreseen(place: Path, text: str) -> list[tuple[int | None, str]]:
    environ = {"HOME": str(place), "PATH": f"{place}/bin:/usr/bin:/bin", "EMPTY": "", "SET": "v"}
    return list(refusals(read(text), environ, str(place / "project")))


def test_what_is_there_is_not_refused(place: Path):
    text = 'read_paths = ["~/data"]\nwrite_paths = ["~/data"]\n[mcp.m]\ncommand = ["server"]'
    assert foreseen(place, text) == []


def test_a_program_that_a_secret_comes_from_is_looked_for_and_not_run(place: Path):
    (place / "bin/asks").write_text(f"#!/bin/sh\ntouch {place}/asked; echo value\n")
    (place / "bin/asks").chmod(0o755)
    text = f'{ALLOW}[secrets.SET]\n[secrets.K]\ncommand = ["asks"]'
    assert foreseen(place, text) == []
    assert not (place / "asked").exists()


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
        ('[mcp.m]\ncommand = ["server"]\nsecrets = { K = "NONE" }', 1, "variable NONE is not set; set it"),
        ('exec = [\n"/bin/sh",\n"no-such-tool"]', 3, "exec names no-such-tool: command not found"),
        ('exec = ["/none/*"]', 1, "exec names /none/*, which is no executable file"),
        (f"{ALLOW}[secrets.NONE]", 2, "secrets.NONE: the environment variable NONE is not set; set it"),
        (f"{ALLOW}[secrets.EMPTY]", 2, "variable EMPTY is empty"),
        (f'{ALLOW}[secrets.K]\nfile = "~/none"', 2, "none: no such file or directory"),
        (f'{ALLOW}[secrets.K]\ncommand = ["no-such-tool"]', 2, "no-such-tool: command not found"),
    ],
)
def test_what_a_run_would_refuse_is_said_with_its_line(place: Path, text: str, line: int, words: str):
    ((at, sentence),) = foreseen(place, text)
    assert at == line
    assert words in sentence
