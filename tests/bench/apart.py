"""What a whole process takes: seconds, those of the processor, and memory.

`ru_maxrss` of a process begins with what its parent held when it executed the program: `exec_mmap` of Linux
keeps the high-water mark of the memory that is left. So a benchmark that holds a hundred megabytes would
find them in each program that it starts. Here a small interpreter stands between.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_BETWEEN: Final = """
import os, sys, time
began = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one process and those that it waited for took."""

    seconds: float
    processor: float
    """User and system time, in seconds."""
    peak_mb: float
    """The largest resident set of any of them, in megabytes (2**20); never below a bare interpreter's 10."""


def taken(argv: Sequence[str], exits: Sequence[int] = (0,)) -> Taken:
    """Run `argv` to its end, without its output; a `SystemExit` where its exit code is none of `exits`."""
    between = [sys.executable, "-ISc", _BETWEEN, *argv]
    pipe = subprocess.PIPE
    done = subprocess.run(between, stdout=subprocess.DEVNULL, stderr=pipe, check=False, env=os.environ)
    if done.returncode not in exits:
        raise SystemExit(f"{argv} ended with exit code {done.returncode}: {done.stderr.decode()[-500:]}")
    seconds, processor, peak = done.stderr.split()[-3:]
    return Taken(float(seconds), float(processor), float(peak) / 1024)
