"""Traces one program's system calls with strace, across every process and thread that it starts."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.support.user import UID
from tests.traces.programs import Program

UNSEEN: Final = ("exit", "exit_group", "restart_syscall", "rt_sigreturn")
"""They never return, so that strace does not count them; any program may make them."""
MAX_SECONDS: Final = 240


def missing(program: Program) -> list[str]:
    """The commands that the program needs and this machine has not."""
    return [name for name in ("strace", *program.needs) if shutil.which(name) is None]


def calls(program: Program) -> frozenset[str]:
    """The names of all system calls that the program made."""
    with tempfile.TemporaryDirectory(prefix="hark-trace-") as name:
        folder = Path(name)
        work = folder / "work"
        work.mkdir()
        identity = {}
        if program.ordinary and os.geteuid() == 0:
            identity = {"user": UID, "group": UID, "extra_groups": []}
            for path in (folder, work):
                os.chown(path, UID, UID)
        summary = folder / "calls"
        subprocess.run(
            ["strace", "-f", "-qq", "-c", "-U", "name", "-o", str(summary), "/bin/sh", "-c", program.script],
            check=False,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=MAX_SECONDS,
            **identity,
        )
        names = {line.strip() for line in summary.read_text().splitlines()}
    return frozenset(
        name for name in names if name.replace("_", "").isalnum() and name not in ("syscall", "total")
    )
