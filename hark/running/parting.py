"""What a run tells its user once the agent has ended: in one order, and last of all what can be pasted.

What always holds: the record is sealed by then, and nothing here changes it or the exit code. The words are
those of `hark.running.summary`, of what watched, and of the policy; nothing here prints: `say` and `show` get
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hark.plan import nesting, policy_file, project
from hark.repeatable import determinism
from hark.running import summary

if TYPE_CHECKING:
    from hark.plan.preparation import Prepared
    from hark.policy.model import Policy
    from hark.running.filing import Files
    from hark.running.left import Left
    from launcher.pages import Log
    from launcher.report import Ended
    from mediator.ledger import Summary

EXIT_NOT_FOUND: Final = 127
"""What a shell ends with when its last command was not found."""


@dataclass(frozen=True, slots=True)
class Parting:
    """The end of one run, for whoever started it."""

    prepared: Prepared
    policy: Policy
    """The one in force at the end: what would allow a denial is said by it."""
    files: Files | None
    log: Log | None
    """What the agent's shims said; None where it had none."""
    say: Callable[[str], None]
    show: Callable[[str], None]
    left: Left | None
    """What the agent has left; None where that does not stay: nobody acts on a copy that is thrown away."""

    def tell(
        self,
        found: Summary,
        ended: Ended,
        before: dict[str, bytes],
        folders: dict[str, tuple[int, int]],
        code: int,
    ) -> None:
        """Say what the user has to know; `before` and `folders` are the project's as the run began."""
        for line in summary.of_denials(found):
            self.say(line)
        for line in policy_file.said_at_the_end(self.prepared.policy):
            self.say(line)
        self.tell_left(before)
        for line in determinism.said(
            self.prepared.controlled, self.log, ended.unreached, unheard=ended.unheard
        ):
            self.say(line)
        for line in () if self.files is None else self.files.said():
            self.say(line)
        for path in ended.replaced:
            self.say(summary.laid_bare(self._named(path)))
        for path in project.bared(folders):
            self.say(summary.moved_from(self._named(path)))
        if ended.refused:
            self.say(nesting.refused(ended.refused))
        if code == EXIT_NOT_FOUND and self.prepared.unseen:
            self.say(summary.not_found(self.prepared.unseen))
        if code:
            self._tell_of_what_it_lacked()
        if found.denied and not self.policy.raw:
            for line in summary.behind_the_command(self.prepared.plan.argv[1:]):
                self.say(line)
        self._show_allowing(found)

    def _named(self, path: str) -> str:
        return os.path.relpath(path, self.prepared.plan.workdir)

    def tell_left(self, before: dict[str, bytes]) -> None:
        """Say what other programs act on and the agent has changed or made, and what has another name now."""
        left = self.left
        if left is None:
            return
        if left.unsearched:
            self.say(f"not all of what the agent made was looked through: {left.unsearched}")
        watched = self.prepared.project.watched_everywhere()
        found = project.changes(watched, before, project.fingerprints(watched)) | left.made
        moved = {one.path for one in left.aside if one.now}
        for path, count in found.items():
            if path not in moved:
                self.say(summary.acted_on(self._named(path), count))
        for one in left.aside:
            self.say(summary.put_aside(self._named(one.path), one.now and self._named(one.now)))
        for path in left.services:
            self.say(summary.listened_on(self._named(path)))

    def _tell_of_what_it_lacked(self) -> None:
        """Say what an agent that failed may have failed for want of: files, a repository, a service."""
        for line in summary.kept_back(map(self._named, self.prepared.project.masked)):
            self.say(line)
        if self.left is not None:
            for line in summary.in_a_repository(self.prepared.plan.workdir):
                self.say(line)
        self._show_meant()

    def _show_meant(self) -> None:
        """Show what would let the agent reach a service of this machine that its command names."""
        from hark.plan.inward import meant

        plan = self.prepared.plan
        for words, lines in meant(plan.argv, plan.env, self.policy, plan.published):
            self.say(words)
            for line in lines:
                self.show(line)

    def _show_allowing(self, found: Summary) -> None:
        """Show what would allow the denials: bare lines, which can be pasted as they are."""
        from hark.running.allowing import allowing
        from mediator.wall import local_now

        own = policy_file.shown_own_path(os.environ)
        lines = allowing(found.denied, self.policy, local_now(), own)
        for sentence, pasted in ((lines.lead, lines.pasted), (lines.rest, ())):
            if sentence:
                self.say(sentence)
            for line in pasted:
                self.show(line)
