"""A bisection's folder: which question it answers, every run that was made, the children and their patches.

What always holds: a run is on disk, whole, before it counts; what was half written when the program was
killed is no run. One process has the folder at a time, and it answers one question: another is refused by
what differs. It is the user's alone (0700), since it holds what the recorded run holds.

A folder that is there already may be a stranger's. Nothing outside it is written or read through it: it and
all in it are plain files of the caller's, and every file that is written is a new one. What it says of runs
is only said: `hark.bisect.kept` judges them again.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, Self

from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Job
from hark.errors import UsageError
from hark.visible import visible

QUESTION: Final = "question.json"
RUNS: Final = "runs.jsonl"
CHILDREN: Final = "children"
FOUND: Final = "found.json"
COPY: Final = "run.hark"
MAX_NOTES: Final = 64 << 20
"""Bytes of runs.jsonl, and of question.json: several times what 100 000 runs take."""
_KEY: Final = 16  # hex digits of a question in the name of a file
_HASH: Final = re.compile(r"[0-9a-f]{64}")  # a key goes into the name of a file
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KEPT: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

type About = Mapping[str, object]


class Folder:
    """One folder, new or gone on with. Closes itself at the end of a `with`."""

    def __init__(self, path: str, about: About) -> None:
        self.path: Final = os.path.abspath(path)
        self._at: Final = self._opened()
        try:
            self._refuse_others()
            self._children: Final = os.open(CHILDREN, _FOLDER | os.O_NOFOLLOW, dir_fd=self._at)
        except BaseException:
            os.close(self._at)
            raise
        self._runs: Final = open(os.open(RUNS, _KEPT, 0o600, dir_fd=self._at), "ab+")  # noqa: SIM115 (kept)
        try:
            self._lock()
            self.noted: Final = list(self._settled(about))
            """The runs that were written down before, each as last noted."""
        except BaseException:
            self.close()
            raise

    def note(self, done: Done) -> None:
        """Write a run down, to stay."""
        self._runs.write(json.dumps(done._asdict()).encode() + b"\n")
        self._runs.flush()
        os.fsync(self._runs.fileno())

    def child(self, job: Job) -> str:
        """Return where the bundle of a run goes; what an earlier process left there half done is removed."""
        name = f"{_stem(job.question.key)}-{job.trial}.hark"
        _removed(name, self._children)
        return self._below(name)

    def bundle_of(self, done: Done) -> str:
        """Return where the bundle of a run is that was noted."""
        return self._below(f"{_stem(done.key)}-{done.trial}.hark")

    def log(self, job: Job) -> str:
        """Return where what a run said goes."""
        return self._below(f"{_stem(job.question.key)}-{job.trial}.log")

    def said(self, job: Job) -> str:
        """Return where the verdict of a run goes."""
        return self._below(f"{_stem(job.question.key)}-{job.trial}.json")

    def opened(self, path: str) -> BinaryIO:
        """Open one of these to be written, a new file in the place of one that is there."""
        return _new(os.path.basename(path), self._children)

    def patch(self, job: Job) -> str:
        """Write a run's patch, and return where; empty where it has none."""
        if not job.question.patch:
            return ""
        name = f"{_stem(job.question.key)}-patch.json"
        _written(name, job.question.patch, self._children)
        return self._below(name)

    def found(self, patch: bytes) -> str:
        """Write the patch that was found, and return where."""
        _written(FOUND, patch, self._at)
        return os.path.join(self.path, FOUND)

    def copied(self, bundle: str) -> str:
        """Return where the bundle was copied to, so that nobody else can change it between two runs."""
        path = os.path.join(self.path, COPY)
        if not os.path.lexists(path):
            with open(bundle, "rb") as source, _new(f"{COPY}.part", self._at) as target:
                shutil.copyfileobj(source, target)
            os.rename(f"{COPY}.part", COPY, src_dir_fd=self._at, dst_dir_fd=self._at)
        return path

    def close(self) -> None:
        """Let it go; again is harmless."""
        if not self._runs.closed:
            self._runs.close()
            os.close(self._children)
            os.close(self._at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _below(self, name: str) -> str:
        return os.path.join(self.path, CHILDREN, name)

    def _opened(self) -> int:
        """Open it, made if it is not there, as the caller's alone. Raises UsageError."""
        try:
            os.makedirs(self.path, 0o700, exist_ok=True)
            folder = os.open(self.path, _FOLDER)
        except OSError as error:
            raise UsageError(f"-o {self.path}: {error.strerror}; name another folder") from None
        try:
            self._make_ready(folder)
        except BaseException:
            os.close(folder)
            raise
        return folder

    def _make_ready(self, folder: int) -> None:
        entries = os.listdir(folder)
        if entries and RUNS not in entries:
            raise UsageError(f"{self.path} is there, and no folder of a bisection; name another with -o")
        if os.fstat(folder).st_uid != os.geteuid():
            raise UsageError(f"{self.path} belongs to somebody else; name another folder with -o")
        os.fchmod(folder, 0o700)
        if CHILDREN not in entries:
            os.mkdir(CHILDREN, 0o700, dir_fd=folder)

    def _refuse_others(self) -> None:
        """Refuse a link, a name of a file that has another one, and whatever is no file of the caller's."""
        if not _is_own(os.lstat(CHILDREN, dir_fd=self._at), stat.S_IFDIR):
            raise self._foreign(CHILDREN)
        children = os.open(CHILDREN, _FOLDER | os.O_NOFOLLOW, dir_fd=self._at)
        try:
            os.fchmod(children, 0o700)
            for folder, above in ((self._at, ""), (children, f"{CHILDREN}/")):
                for name in os.listdir(folder):
                    info = os.lstat(name, dir_fd=folder)
                    plain = _is_own(info, stat.S_IFREG) and info.st_nlink == 1
                    if not plain and (above or name != CHILDREN):
                        raise self._foreign(f"{above}{name}")
        finally:
            os.close(children)

    def _foreign(self, name: str) -> UsageError:
        return UsageError(
            f"{visible(os.path.join(self.path, name))} is a link, or no file of yours, which no bisection "
            "leaves; name another folder with -o"
        )

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
            with open(path, "rb", opener=_unfollowed) as file:
                before = json.loads(self._whole(file, QUESTION))
        except FileNotFoundError:
            before = now
            _written(QUESTION, json.dumps(now, indent=1).encode(), self._at)
        except ValueError:
            raise UsageError(f"{path} cannot be read; name another folder with -o") from None
        differing = [name for name in now if not isinstance(before, dict) or before.get(name) != now[name]]
        if differing:
            raise UsageError(
                f"{self.path} answers another question: its {', '.join(differing)} differs; name another "
                "folder with -o"
            )
        yield from {(done.key, done.trial): done for done in self._before()}.values()

    def _before(self) -> Iterator[Done]:
        self._runs.seek(0)
        whole = 0
        for number, line in enumerate(self._whole(self._runs, RUNS).splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                break  # the writer was killed in it
            whole += len(line)
            try:
                yield _done(json.loads(line))
            except (ValueError, TypeError, KeyError):
                raise UsageError(
                    f"{self.path}/{RUNS}, line {number}: is no run; name another folder with -o"
                ) from None
        self._runs.truncate(whole)

    def _whole(self, file: BinaryIO, name: str) -> bytes:
        data = file.read(MAX_NOTES + 1)
        if len(data) > MAX_NOTES:
            raise UsageError(f"{self.path}/{name} is larger than any bisection's; name another with -o")
        return data


def _done(record: Any) -> Done:
    key = str(record["key"])
    if not _HASH.fullmatch(key):
        raise ValueError(key)
    return Done(
        key,
        int(record["trial"]),
        Shown(record["shown"]),
        str(record["why"]),
        float(record["seconds"]),
        str(record["bundle"]),
    )


def _stem(key: str) -> str:
    return key[:_KEY]


def _is_own(info: os.stat_result, kind: int) -> bool:
    return stat.S_IFMT(info.st_mode) == kind and info.st_uid == os.geteuid()


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def _removed(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _new(name: str, folder: int) -> BinaryIO:
    """Make a file, in the place of what has the name: that itself is never written."""
    _removed(name, folder)
    return open(os.open(name, _NEW, 0o600, dir_fd=folder), "wb")


def _written(name: str, data: bytes, folder: int) -> None:
    """Write a file whole, or not at all."""
    with _new(f"{name}.part", folder) as file:
        file.write(data)
    os.rename(f"{name}.part", name, src_dir_fd=folder, dst_dir_fd=folder)
