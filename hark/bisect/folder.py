"""A bisection's folder: which question it answers, every run that was made, the children and their patches.

What always holds: a run is on disk, whole, before it counts; what was half written when the program was
killed is no run. One process has the folder at a time, and it answers one question: another is refused by
what differs. It is the user's alone (0700), since it holds what the recorded run holds.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Job
from hark.errors import UsageError

QUESTION: Final = "question.json"
RUNS: Final = "runs.jsonl"
CHILDREN: Final = "children"
FOUND: Final = "found.json"
COPY: Final = "run.hark"
_KEY: Final = 16  # hex digits of a question in the name of a file

type About = Mapping[str, object]


class Folder:
    """One folder, new or gone on with. Closes itself at the end of a `with`."""

    def __init__(self, path: str, about: About) -> None:
        self.path: Final = os.path.abspath(path)
        self._make()
        self._runs: Final = open(os.path.join(self.path, RUNS), "ab+")  # noqa: SIM115 (kept)
        try:
            self._lock()
            self.known: Final = list(self._settled(about))
        except BaseException:
            self._runs.close()
            raise

    def note(self, done: Done) -> None:
        """Write a run down, to stay."""
        self._runs.write(json.dumps(done._asdict()).encode() + b"\n")
        self._runs.flush()
        os.fsync(self._runs.fileno())

    def child(self, job: Job) -> str:
        """Return where the bundle of a run goes; what an earlier process left there half done is removed."""
        path = self._of(job, f"{job.trial}.hark")
        if os.path.lexists(path):
            os.unlink(path)
        return path

    def log(self, job: Job) -> str:
        """Return where what a run said goes."""
        return self._of(job, f"{job.trial}.log")

    def said(self, job: Job) -> str:
        """Return where the verdict of a run goes."""
        return self._of(job, f"{job.trial}.json")

    def patch(self, job: Job) -> str:
        """Write a run's patch, and return where; empty where it has none."""
        if not job.question.patch:
            return ""
        path = self._of(job, "patch.json")
        _written(path, job.question.patch)
        return path

    def found(self, patch: bytes) -> str:
        """Write the patch that was found, and return where."""
        path = os.path.join(self.path, FOUND)
        _written(path, patch)
        return path

    def copied(self, bundle: str) -> str:
        """Return where the bundle was copied to, so that nobody else can change it between two runs."""
        path = os.path.join(self.path, COPY)
        if not os.path.exists(path):
            shutil.copyfile(bundle, f"{path}.part")
            os.rename(f"{path}.part", path)
        return path

    def close(self) -> None:
        """Let it go; again is harmless."""
        self._runs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _of(self, job: Job, name: str) -> str:
        return os.path.join(self.path, CHILDREN, f"{job.question.key[:_KEY]}-{name}")

    def _make(self) -> None:
        try:
            entries = os.listdir(self.path)
        except FileNotFoundError:
            entries = []
        if entries and RUNS not in entries:
            raise UsageError(f"{self.path} is there, and no folder of a bisection; name another with -o")
        os.makedirs(os.path.join(self.path, CHILDREN), 0o700, exist_ok=True)
        os.chmod(self.path, 0o700)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._runs, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{self.path} is in use by another bisection; name another with -o") from None

    def _settled(self, about: About) -> Iterator[Done]:
        """Yield the runs of before, if they are of the same question."""
        path = os.path.join(self.path, QUESTION)
        now = json.loads(json.dumps(about))
        try:
            with open(path, "rb") as file:
                before = json.load(file)
        except FileNotFoundError:
            before = now
            _written(path, json.dumps(now, indent=1).encode())
        except ValueError:
            raise UsageError(f"{path} cannot be read; name another folder with -o") from None
        differing = [name for name in now if not isinstance(before, dict) or before.get(name) != now[name]]
        if differing:
            raise UsageError(
                f"{self.path} answers another question: its {', '.join(differing)} differs; name another "
                "folder with -o"
            )
        yield from self._before()

    def _before(self) -> Iterator[Done]:
        self._runs.seek(0)
        whole = 0
        for number, line in enumerate(self._runs, 1):
            if not line.endswith(b"\n"):
                break  # the writer was killed in it
            whole += len(line)
            try:
                yield _done(json.loads(line))
            except (ValueError, TypeError, KeyError):
                raise UsageError(
                    f"{self._runs.name}, line {number}: is no run; name another folder with -o"
                ) from None
        self._runs.truncate(whole)


def _done(record: Any) -> Done:
    return Done(
        str(record["key"]),
        int(record["trial"]),
        Shown(record["shown"]),
        str(record["why"]),
        float(record["seconds"]),
        str(record["bundle"]),
    )


def _written(path: str, data: bytes) -> None:
    """Write a file whole, or not at all."""
    with open(f"{path}.part", "wb") as file:
        file.write(data)
    os.rename(f"{path}.part", path)
