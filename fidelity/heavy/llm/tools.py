"""Functions that the command is given as tools."""

import pathlib
import subprocess


def run(command: str) -> str:
    """Run a shell line."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


def read(path: str) -> str:
    """Read a file."""
    return pathlib.Path(path).read_text()


def edit(path: str, old: str, new: str) -> str:
    """Replace text in a file."""
    file = pathlib.Path(path)
    file.write_text(file.read_text().replace(old, new))
    return f"edited {path}"
