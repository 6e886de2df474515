"""The folders and files that an agent may write besides its project: what of them a run left different.

Always: they are looked through before the agent starts, and nothing in them is read then: they are the user's
own, and go into no bundle. At the end what was made or written there is on the record by path, mode and hash.
A replay has empty ones in their place, so of a file that lay there before only what was done with it can be
compared. Not looked at is what a plan has for another reason than `GRANTED`.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from hark.bundle.events import FileResult, FsManifest, ShimReport
from hark.places import contains
from hark.snapshot.collect import Collected, LeftOutError, hashed, same
from hark.snapshot.ignoring import Rules
from hark.snapshot.names import below, spelled
from hark.snapshot.results import MAX_READ, results
from hark.snapshot.survey import Search, survey
from launcher.plan import Access, Plan

GRANTED: Final = ("write_paths", "-write")
"""Why the grants that are looked through are in a plan."""
SOURCE: Final = "files"
_READING: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Recorded(Protocol):
    """What a replay has to know of its recording."""

    @property
    def looked_through(self) -> Collection[str]:
        """The folders and files that were looked at."""
        ...

    @property
    def was_there(self) -> Collection[str]:
        """What lay in them, and was written or removed."""
        ...


@dataclass(slots=True)
class Elsewhere:
    """Those of one run. `look` before the agent starts, `closing` after every process has ended."""

    plan: Plan
    exclude: tuple[str, ...]
    search: Search | None
    beside: tuple[str, ...] = ()
    only: Collection[str] | None = None
    """Of a replay: those that were looked through when it was recorded."""
    there: Collection[str] = ()
    """Of a replay: what lay in them then, and was written or removed."""
    _before: dict[str, tuple[str, Collected]] = field(default_factory=dict)
    _files: dict[str, tuple[str, os.stat_result]] = field(default_factory=dict)

    def look(self) -> None:
        """See what lies there."""
        for path, root in places(self.plan):
            if self.only is not None and path not in self.only:
                continue
            if os.path.isfile(root):
                self._files[path] = root, os.stat(root)
            else:
                found = survey(root, Rules(self.exclude), self._kept_back(path), self.search, learn=False)
                self._before[path] = root, Collected(found)

    def opening(self) -> Iterator[FsManifest]:
        """Yield that each of them is looked through; of what lies there, nothing."""
        yield from (FsManifest(root=_utf8(path)) for path in self._before)
        yield from (FsManifest(root=_utf8(path), single=True) for path in self._files)

    def closing(self) -> Iterator[FileResult | ShimReport]:
        """Yield what the run did there."""
        for path, (root, before) in self._before.items():
            try:
                known = {spelled(name) for name, _ in before.survey.files()}
                for event in results(root, before, self._kept_back(path), self.search):
                    yield self._placed(path, event, known)
            except OSError as error:
                yield ShimReport(SOURCE, _utf8(path), error.strerror or str(error))
        for path, (root, status) in self._files.items():
            yield from self._file(path, root, status)

    def _file(self, path: str, root: str, before: os.stat_result) -> Iterator[FileResult | ShimReport]:
        """Yield what was done with a single file, whose place a mount has kept."""
        try:
            with open(os.open(root, _READING), "rb") as file:
                status = os.fstat(file.fileno())
                if not same(status, before):
                    found = hashed(file.fileno(), self.search, min(status.st_size, MAX_READ))
                    yield FileResult(_utf8(path), status.st_mode, found, was_there=True)
        except FileNotFoundError:
            yield FileResult(_utf8(path), 0, b"", was_there=True)
        except (LeftOutError, OSError) as error:
            yield ShimReport(SOURCE, _utf8(path), getattr(error, "strerror", None) or str(error))

    def _placed(
        self, folder: str, event: FileResult | ShimReport, known: Collection[str]
    ) -> FileResult | ShimReport:
        if isinstance(event, ShimReport):
            return event._replace(what=f"{event.what} in {_utf8(folder)}")
        path = f"{_utf8(folder)}/{event.path}"
        return event._replace(path=path, was_there=event.path in known or path in self.there)

    def _kept_back(self, path: str) -> frozenset[bytes]:
        plan = self.plan
        covered = (plan.workdir, *plan.masked, *plan.hidden, *plan.files, *self.beside)
        return frozenset(found for one in covered if (found := below(path, one)) is not None)


def places(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the folders and files, by the paths that the agent sees and those of the host."""
    written = [grant.path for grant in plan.grants if grant.access is Access.WRITE]
    for grant in plan.grants:
        root = grant.path if grant.source is None else grant.source
        there = os.path.isdir(root) or os.path.isfile(root)
        counted = grant.access is Access.WRITE and grant.why in GRANTED and there
        if counted and not any(other != grant.path and contains(other, grant.path) for other in written):
            yield grant.path, root


def _utf8(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
