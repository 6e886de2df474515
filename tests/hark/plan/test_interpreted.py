"""What of a command line is code, told from what is data, on real files."""

from pathlib import Path

import pytest

from hark.plan.interpreted import code_places


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("server", "server.py", "data.db", "pkg/__main__.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "run").touch(mode=0o755)
    return tmp_path


CODE = (
    "python3 P/server",
    "/usr/bin/python3.12 -W ignore P/pkg",
    "env -i A=b python P/server",
    "timeout 5 node P/pkg",
    "node --import tsx P/pkg",
    "env PYTHONPATH=/usr:P tool",
    "java -cp P Main",
    "uv run --directory P server",
    "uv run --project=P server",
    "npx -y P/pkg",
    "npm --prefix P start",
    "make -C P",
    "tool P/run",
    "tool --hook=P/server.py",
    "tool server.py",
    "sh server P/data.db",
)
DATA = (
    "npx -y @example/files P",
    "uvx example-server --db-path P/data.db",
    "tool P/data.db P",
    "python3 -m example.server P",
    "node -e code P",
    "sh -c true P",
    "python3 /usr/bin/env P",
)


@pytest.mark.parametrize("line", CODE)
def test_a_script_or_directory_or_search_path_is_code(project: Path, line: str) -> None:
    words = tuple(_placed(word, project) for word in line.split())
    assert any(place.startswith(str(project)) for place in code_places(words, str(project)))


@pytest.mark.parametrize("line", DATA)
def test_what_is_handed_on_to_the_program_is_data(project: Path, line: str) -> None:
    words = tuple(_placed(word, project) for word in line.split())
    assert not any(place.startswith(str(project)) for place in code_places(words, "/"))


def _placed(word: str, project: Path) -> str:
    """A P that is a word, or part of a path, stands for the project."""
    parts = word.replace("=P", f"={project}").replace(":P", f":{project}")
    return f"{project}{parts[1:]}" if parts == "P" or parts.startswith("P/") else parts
