"""Forks side by side, each a `hark fork` of its own: the only module of a bisection that starts programs.

What always holds: each fork is a process group, so that Ctrl-C at the terminal reaches the bisection alone,
which then ends them; a fork ends with the bisection however that ends; what an agent prints goes to a file
beside its bundle. Nobody is asked by a fork: it has no input.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Job
from hark.bisect.folder import Folder
from hark.bisect.judging import Judge
from launcher.kernel import die_with_parent

PATIENCE_S: Final = 5
"""How long a fork that is ended may take to end its agent."""
PROGRAM: Final = (sys.executable, "-P", "-m", "hark.cli.main")
_MOST_SAID: Final = 16 << 20


class _Running(NamedTuple):
    job: Job
    process: "subprocess.Popen[bytes]"
    descriptor: int
    began: float
    bundle: str


@dataclass(slots=True)
class Forks:
    """A `hark.bisect.driver.Runner`."""

    bundle: str
    options: tuple[str, ...]
    """What each fork is told, besides branch point, patch and output."""
    folder: Folder
    judge: Judge
    _running: dict[int, _Running] = field(default_factory=dict)

    def begin(self, job: Job) -> None:
        """As of a Runner."""
        child, patch = self.folder.child(job), self.folder.patch(job)
        words = ["fork", "-json", "-at", str(job.question.at), "-o", child, *self.options]
        words += ["-patch", patch] if patch else []
        # Files and not pipes: who reads a pipe to its end waits for whatever was left holding it.
        with open(self.folder.log(job), "wb") as log, open(self.folder.said(job), "wb") as said:
            process = subprocess.Popen(
                (*PROGRAM, *words, "--", self.bundle),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=log,
                process_group=0,
                preexec_fn=_ends_with_us,  # noqa: PLW1509 (this process has one thread)
            )
        descriptor = os.pidfd_open(process.pid)
        self._running[descriptor] = _Running(job, process, descriptor, time.monotonic(), child)

    def ended(self) -> Done:
        """As of a Runner."""
        poll = select.poll()
        for descriptor in self._running:
            poll.register(descriptor, select.POLLIN)
        descriptor = poll.poll()[0][0]
        running = self._running.pop(descriptor)
        self._finish(running)
        shown, why = self._judged(running)
        seconds = round(time.monotonic() - running.began, 3)
        job = running.job
        return Done(job.question.key, job.trial, shown, why, seconds, os.path.basename(running.bundle))

    def drop(self) -> None:
        """As of a Runner."""
        for running in self._running.values():
            running.process.send_signal(signal.SIGTERM)
        for running in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.process.wait(PATIENCE_S)
            running.process.kill()
            self._finish(running)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(running.bundle)
        self._running.clear()

    def _finish(self, running: _Running) -> None:
        running.process.wait()
        os.close(running.descriptor)

    def _judged(self, running: _Running) -> tuple[Shown, str]:
        try:
            with open(self.folder.said(running.job), "rb") as said:
                verdict: Any = json.loads(said.read(_MOST_SAID))
        except ValueError:
            verdict = None
        if not isinstance(verdict, dict):
            return Shown.NOTHING, self._complaint(running)
        return self.judge.fork(verdict)

    def _complaint(self, running: _Running) -> str:
        """Return the last line that a fork said which came to nothing."""
        with open(self.folder.log(running.job), "rb") as log:
            lines = log.read(_MOST_SAID).decode("utf-8", "replace").split("\n")
        said = [line.removeprefix("hark: ") for line in lines if line.startswith("hark: ")]
        code = running.process.returncode
        return said[-1] if said else f"hark fork ended with {code} and said nothing"


def _ends_with_us() -> None:
    die_with_parent(signal.SIGTERM)
