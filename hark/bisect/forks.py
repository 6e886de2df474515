"""Forks side by side, each a `hark fork` of its own: the only module of a bisection that starts programs.

What always holds: Ctrl-C at the terminal reaches the bisection alone, which then ends them; a fork ends with
the bisection however that ends; what an agent prints goes to a file beside its bundle; a fork that takes too
long shows neither that the outcome is seen nor that it is gone.
"""

import contextlib
import os
from dataclasses import dataclass, field

from hark.beside import Beside, Ended
from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Job
from hark.bisect.folder import Folder
from hark.bisect.judging import Judge
from hark.fork import apart


@dataclass(frozen=True, slots=True)
class _Begun:
    job: Job
    child: str


@dataclass(slots=True)
class Forks:
    """A `hark.bisect.driver.Runner`."""

    bundle: str
    options: tuple[str, ...]
    """What each fork is told, besides branch point, patch and output."""
    folder: Folder
    judge: Judge
    seconds: float | None = None
    """How long each may take; None: as long as it likes."""
    _beside: Beside[_Begun] = field(default_factory=Beside)

    def begin(self, job: Job) -> None:
        """As of a Runner."""
        child, patch = self.folder.child(job), self.folder.patch(job)
        words = ["-at", str(job.question.at), "-o", child, *self.options]
        words += ["-patch", patch] if patch else []
        command, opened = apart.command(words, self.bundle), self.folder.opened
        with opened(self.folder.log(job)) as log, opened(self.folder.said(job)) as said:
            self._beside.begin(_Begun(job, child), command, said, log, seconds=self.seconds)

    def ended(self) -> Done:
        """As of a Runner."""
        ended = self._beside.ended()
        job, child = ended.tag.job, ended.tag.child
        shown, why = self._judged(ended)
        return Done(job.question.key, job.trial, shown, why, ended.seconds, os.path.basename(child))

    def drop(self) -> None:
        """As of a Runner."""
        for begun in self._beside.drop():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(begun.child)

    def _judged(self, ended: Ended[_Begun]) -> tuple[Shown, str]:
        if ended.code is None:
            return Shown.LATE, apart.late(self.seconds or 0)
        job = ended.tag.job
        verdict = apart.verdict(self.folder.said(job))
        if not verdict:
            return Shown.NOTHING, apart.complaint(self.folder.log(job), ended.code)
        return self.judge.fork(verdict)
