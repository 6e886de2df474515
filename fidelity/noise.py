"""Processes that keep the processors busy, so that what races in a replay races differently each time."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SPIN: Final = """
import os, random, sys, time
parent = os.getppid()
while os.getppid() == parent:
    until = time.monotonic() + random.uniform(0.001, 0.05)
    while time.monotonic() < until:
        pass
    if random.random() < 0.3:
        time.sleep(random.uniform(0.0, 0.02))
"""
"""Ends with its parent, even where that was killed."""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep `count` processes busy, in bursts, until the context ends."""
    started = [subprocess.Popen([sys.executable, "-c", SPIN], env=dict(os.environ)) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
