"""Run the real program as a user does, in a process of its own."""

import os
import subprocess
import sys
from typing import NamedTuple


class Result(NamedTuple):
    code: int
    out: str
    err: str


def hark(*words, env=None, cwd=None, stdin=None, timeout=120):
    """Exit code and both outputs of `hark WORDS`, with this interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "hark.cli.main", *map(str, words)],
        env={**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "160", **(env or {})},
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())
