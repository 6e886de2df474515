"""The files of one run on its record: before the agent, kept for a replay, and what became of them at the
end.

Reading goes on in a thread, beside what else a run does before its agent may start; the agent starts after
the last byte was read and recorded. Nothing that goes wrong here ends a run: it is on the record, and said
at the end.
"""

import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from hark.bundle.events import FileResult, FsManifest, ShimReport, Snapshot
from hark.plan import remounting
from hark.plan.preparation import Prepared
from hark.running import summary
from hark.running.elsewhere import Elsewhere, Recorded
from hark.snapshot.names import below
from hark.snapshot.weighed import Weighed

if TYPE_CHECKING:
    from hark.snapshot.collect import Collected
    from mediator.credentials import Broker

SOURCE: Final = "files"
_SMALL: Final = 16  # and at most this part of it for what changed files held
_ROOM: Final = 2  # a bundle that may not be larger than some size has at most this part of it for the copy


class Files:
    """The project of one run. `begin`, then `opening`, and `closing` when every process inside has ended."""

    def __init__(
        self,
        prepared: Prepared,
        broker: "Broker",
        *,
        keep: bool,
        beside: tuple[str, ...],
        recorded: Recorded | None = None,
    ) -> None:
        """`beside`: paths of hark's own that may lie in the project and are no part of it.

        `recorded`: what a replay knows of its recording.
        """
        plan = prepared.plan
        self._place = plan.workdir
        """Where the agent sees it. What it sees there is a copy in a replay."""
        sources = (grant.source for grant in plan.grants if grant.path == plan.workdir)
        self._root = next((source for source in sources if source is not None), plan.workdir)
        covered = (*plan.masked, *plan.hidden, *plan.files, *beside)
        self._kept_back = frozenset(path for one in covered if (path := below(self._place, one)) is not None)
        self._search = Weighed(broker.real_value_in) if broker.holds_any else None
        self._rules = prepared.policy.snapshot
        self._most = prepared.policy.max_bytes
        self._keep = keep
        self._mounted = prepared.mounted
        self._elsewhere = Elsewhere(plan, self._rules.exclude, self._search, beside)
        if recorded is not None:
            self._elsewhere.only, self._elsewhere.there = recorded.looked_through, recorded.was_there
        self._found: Collected | None = None
        self._failure = ""
        self._thread = threading.Thread(target=self._collect, name="files", daemon=True)

    def begin(self) -> None:
        """Start to read. Not before the boundary was forked."""
        self._thread.start()

    def _collect(self) -> None:
        try:
            from hark.snapshot.collect import collect

            self._elsewhere.look()
            self._found = collect(self._root, self._rules, self._kept_back, self._search, keep=self._keep)
        except Exception as error:  # noqa: BLE001  (whatever it is: the run is told, and goes on)
            self._failure = f"{type(error).__name__}: {error}"

    def opening(self) -> Iterator[FsManifest | Snapshot | ShimReport]:
        """Yield what the project was, when all of it has been read."""
        self._thread.join()
        found = self._found
        if found is None:
            yield ShimReport(SOURCE, "the project as it was", self._failure)
            return
        from hark.snapshot.stored import events_of

        if found.kept is not None and self._most is not None and len(found.kept.data) > self._most // _ROOM:
            found.why = (
                f"it takes {len(found.kept.data)} bytes, too many for record.max_bytes of {self._most}"
            )
            found.kept = None
        yield from events_of(found, os.fsencode(self._place).decode("utf-8", "backslashreplace"))
        yield from self._elsewhere.opening()
        if self._keep:
            yield from remounting.events_of(self._mounted)

    def warned(self) -> Iterator[str]:
        """Yield, once `opening` is through, where the agent can read what the policy keeps from it."""
        if self._found is not None:
            yield from summary.holding(self._found.holding)

    def closing(self) -> Iterator[FileResult | Snapshot | ShimReport]:
        """Yield what the run has done to the project."""
        if self._found is None:
            return
        from hark.snapshot.contents import Contents
        from hark.snapshot.results import results

        room = self._rules.max_bytes if self._found.kept is not None else 0
        contents = Contents(room if self._most is None else min(room, self._most // _SMALL))
        try:
            yield from results(self._root, self._found, self._kept_back, self._search, contents.take)
            yield from contents.events()
        except OSError as error:
            yield ShimReport(SOURCE, "the project as it is now", error.strerror or str(error))
        yield from self._elsewhere.closing()

    def said(self) -> Iterator[str]:
        """Yield what the user should know of at the end."""
        if self._found is not None:
            yield from summary.passed_over(self._found.survey.rules.passed_over)
        if self._failure:
            yield f"the project was not recorded, so a replay starts without its files: {self._failure}"
        elif self._found is not None and self._found.why:
            what = "not all" if self._found.kept is not None else "nothing"
            yield (
                f"{what} of the project was kept for a replay: {self._found.why}; raise max, or name what "
                "may be left out with exclude, in [snapshot] of the policy"
            )
