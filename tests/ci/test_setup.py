"""Set-up of the clients: what it fetches is said, and what could not be fetched with what helps."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in which pip and npm do nothing, and do it well."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "setup", tmp_path / ".ci")
    for helper in ("openssl-git", "rust-for-all"):
        program(tmp_path / ".ci" / helper, f'echo "{helper} $1"')
    (tmp_path / "tests" / "clients").mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        (tmp_path / "tests" / "clients" / name).write_text("{}")
    program(tmp_path / ".venv" / "bin" / "python", "exit 0")
    program(tmp_path / "bin" / "npm", "case $1 in config) echo https://me:secret@npm.example/;; esac")
    return tmp_path


def set_up(checkout: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{checkout}/bin:{os.environ['PATH']}"}
    command = [str(checkout / ".ci" / "setup"), "clients"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_each_group_is_said_when_its_turn_comes(checkout: Path) -> None:
    done = set_up(checkout)
    assert (done.returncode, done.stderr, (checkout / ".clients" / ".done").exists()) == (0, "", True)
    python, npm, *made = done.stdout.splitlines()
    assert python.startswith("hark: fetching clients that are Python packages")
    assert npm.startswith("hark: fetching clients that are npm packages, from https://npm.example/ ")
    assert made == ["openssl-git .clients/openssl-git", "rust-for-all .clients/rust"]


@pytest.mark.parametrize("helper", ["openssl-git", "rust-for-all"])
def test_what_cannot_be_made_of_the_machines_own_is_said_and_no_failure(helper: str, tmp_path: Path) -> None:
    for name in ("sh", "sed", "grep", "cp", "mkdir", "uname"):
        (tmp_path / name).symlink_to(shutil.which(name) or "/bin/false")
    words = [str(ROOT / ".ci" / helper), str(tmp_path / "made")]
    done = subprocess.run(words, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, (tmp_path / "made").exists()) == (0, "", False)
    assert done.stdout.startswith("hark: no ")


@pytest.mark.parametrize(
    ("broken", "text", "helps"),
    [
        ("bin/npm", "[ $1 = config ]", "NODE_EXTRA_CA_CERTS"),
        (".venv/bin/python", "[ $1 = -I ]", "PIP_CERT"),
    ],
)
def test_what_cannot_be_fetched_is_named_with_the_variable_that_helps(
    checkout: Path, broken: str, text: str, helps: str
) -> None:
    program(checkout / broken, text)
    done = set_up(checkout)
    assert (done.returncode, (checkout / ".clients" / ".done").exists()) == (1, False)
    (said,) = done.stderr.splitlines()
    assert said.startswith("hark: could not fetch clients that are ")
    assert helps in said
