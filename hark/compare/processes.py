"""Programs that are run side by side, each in a session of its own, and ended together.

What always holds: none is started once they were stopped, and none outlasts its `run`. A program that is run
`whole` takes with it, when it ends, whatever it left running in its session.
"""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Final

STOPPED: Final = 130
"""The exit code of what was not started any more: what a shell reports for Ctrl-C."""


class Processes:
    """Those that run. Used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._stopped = False

    def run(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        printed: IO[bytes],
        said: IO[bytes],
        *,
        folder: str | None = None,
        seconds: float | None = None,
        whole: bool = False,
    ) -> int:
        """Run a program to its end, its output and errors in these files; return its exit code.

        Files and not pipes: who waits for the end of a pipe, waits for whatever was left holding it. Raises
        OSError where it cannot be started, subprocess.TimeoutExpired where it took longer.
        """
        with self._lock:
            if self._stopped:
                return STOPPED
            process = subprocess.Popen(
                argv, cwd=folder, env=dict(environ), stdin=subprocess.DEVNULL, stdout=printed, stderr=said,
                start_new_session=True,
            )  # fmt: skip
            self._running[process.pid] = process
        try:
            return process.wait(timeout=seconds)
        finally:
            if whole or process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            with self._lock:
                del self._running[process.pid]

    def stop(self) -> None:
        """Tell each to end, which may take it a while, and start none any more."""
        with self._lock:
            self._stopped = True
            for process in self._running.values():
                process.terminate()
