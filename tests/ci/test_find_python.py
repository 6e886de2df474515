"""The search for a Python, with interpreters that are shell scripts answering as one kind or another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIND = Path(__file__).resolve().parents[2] / ".ci" / "find-python"


def find(path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the search with `path` in front of the system's tools and nothing else of our environment."""
    whole = {"PATH": f"{path}:/usr/bin:/bin", "HOME": str(path), **env}
    return subprocess.run([FIND], env=whole, capture_output=True, text=True, check=False)


def interpreter(folder: Path, name: str, answer: str, code: int = 0) -> str:
    script = folder / name
    script.write_text(f"#!/bin/sh\necho '{answer}'\nexit {code}\n")
    script.chmod(0o755)
    return str(script)


def test_the_interpreter_that_runs_these_tests_would_do(tmp_path: Path) -> None:
    found = find(tmp_path, PYTHON=sys.executable)
    assert (found.returncode, found.stdout.strip()) == (0, sys.executable)


def test_a_newer_python_on_path_is_preferred(tmp_path: Path) -> None:
    interpreter(tmp_path, "python3.12", "ok /twelve")
    interpreter(tmp_path, "python3.13", "ok /thirteen")
    assert find(tmp_path).stdout == "/thirteen\n"


def test_a_shim_for_a_version_that_is_not_active_is_passed_over(tmp_path: Path) -> None:
    interpreter(tmp_path, "python3.13", "command not found", code=127)
    interpreter(tmp_path, "python3.14", "ok /fourteen")
    assert find(tmp_path).stdout.endswith(("/fourteen\n", "/python3.13\n"))  # the system may have a 3.13


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("old 3.11", "is 3.11, and hark needs Python 3.12 or newer: install"),
        ("novenv 3.12", "has no venv module with ensurepip: install python3.12-venv"),
        ("hello", "does not run as Python: install"),
    ],
)
def test_a_named_python_that_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, answer: str, sentence: str
) -> None:
    interpreter(tmp_path, "python3.13", "ok /would-have-done")
    found = find(tmp_path, PYTHON=interpreter(tmp_path, "chosen", answer))
    assert (found.returncode, found.stdout) == (1, "")
    assert sentence in found.stderr
    assert found.stderr.count("\n") == 1


def test_a_user_who_cannot_read_pyenvs_folder_gets_no_error_about_it(tmp_path: Path) -> None:
    closed = tmp_path / "pyenv"
    closed.mkdir(mode=0o000)
    found = find(tmp_path, PYENV_ROOT=str(closed))
    assert "denied" not in found.stderr


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    find(tmp_path, TMPDIR=str(tmp_path / "tmp"), PYTHON=sys.executable)
    assert os.listdir(tmp_path / "tmp") == []
