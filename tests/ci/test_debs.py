"""Unpacking Debian's packages: refused in words where that cannot be, and nothing is left behind."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("dpkg-deb", "mktemp", "rm", "mkdir", "id", "grep", "head", "ls")


def programs(folder: Path, **scripts: str) -> Path:
    """A folder of programs: this machine's tools, and scripts."""
    folder.mkdir()
    for name in TOOLS:
        (folder / name).symlink_to(Path("/usr/bin") / name)
    for name, text in scripts.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("scripts", "said"),
    [
        ({}, "hark: there is no apt-get here"),
        (
            {"apt_get": "echo https://mirror.example/other/"},
            "hark: this machine's sources name no mirror of Debian",
        ),
    ],
)
def test_a_machine_that_cannot_is_told_so(tmp_path: Path, scripts: dict[str, str], said: str) -> None:
    kept = tmp_path / "tmp"
    kept.mkdir()
    env = {"PATH": str(programs(tmp_path / "bin", **scripts)), "TMPDIR": str(kept)}
    command = ["/bin/sh", str(ROOT / ".ci" / "debs"), str(tmp_path / "to"), "testing", "hello"]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.strip(), list(kept.iterdir())) == (3, said, [])
