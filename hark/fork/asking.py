"""What a fork does to its live requests: the patch to the one at the branch point, and what is set in all.

Always: a request is altered once, by the patch first. Nothing applies to what is answered from the
recording.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hark.errors import PatchError
from hark.fork.message import ids_in
from hark.patch import jsontext
from hark.patch.apply import Sent, patched_message, patched_request
from hark.patch.rewrite import Rewrites, rewritten
from hark.patch.steps import Patch
from hark.replay import jsonform
from mediator.playback.altering import Altered


@dataclass(slots=True)
class Asking:
    """One fork's. A `mediator.playback.altering.Altering`."""

    request: Sent | None
    """The recorded request that is asked live; None where the fork goes live with an answer."""
    patch: Patch | None
    rewrites: Rewrites
    said: bytes = b""
    """The call to a tool server that is asked live, as it was recorded; empty where none is."""
    applied: bool = False
    """Whether the patch has been made on the request."""
    altered_requests: int = 0
    branch: int = 0
    """This run's number of the exchange at the branch point, once it has come to that."""

    @property
    def _rewrites_any(self) -> bool:
        return self.rewrites.model is not None or bool(self.rewrites.sets)

    def may_alter(self, method: str, host: str, path: str, *, live: bool) -> bool:
        """As of an Altering."""
        if live:
            return self._rewrites_any
        request = self.request
        return request is not None and (request.method, request.host, request.path) == (method, host, path)

    def altered(self, exchange: int, sent: Sent) -> Altered | str | None:
        """As of an Altering."""
        now, why = sent, []
        if exchange == self.branch and self.request is not None and self.patch is not None:
            try:
                now = patched_request(self.patch, now)
            except PatchError as error:
                return f"the patch cannot be made on it: {error}"
            self.applied = True
            why.append("the patch")
        again = rewritten(self.rewrites, now) if self._rewrites_any else None
        if again is not None:
            now = again
            why.append(self._words())
        if not why:
            return None
        self.altered_requests += 1
        return Altered(now, " and ".join(why))

    def message(self, lines: Sequence[bytes]) -> bytes | str:
        """As of an Altering: the last line that is the recorded call by value, or else has its id."""
        found = max(reversed(lines), key=self._alike, default=b"")
        if not self._alike(found):
            return "the agent's call at the branch point is not among the last that it made"
        if self.patch is None:
            return found
        try:
            made = patched_message(self.patch, found)
        except PatchError as error:
            return f"the patch cannot be made on it: {error}"
        self.applied = True
        self.altered_requests += 1
        return made

    def _alike(self, line: bytes) -> int:
        one, other = jsontext.load(line), jsontext.load(self.said)
        if one is not None and jsonform.spell(one) == jsonform.spell(other):
            return 2
        return int(bool(ids_in(one)) and ids_in(one) == ids_in(other))

    def _words(self) -> str:
        model = [] if self.rewrites.model is None else [f"-model {self.rewrites.model}"]
        return ", ".join((*model, *(f"-set {pointer}" for pointer, _ in self.rewrites.sets)))
