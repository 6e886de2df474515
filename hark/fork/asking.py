"""What a fork does to its live requests: the patch to the one at the branch point, and what is set in all.

Always: a request is altered once, by the patch first. Nothing applies to what is answered from the
recording.
"""

from dataclasses import dataclass

from hark.errors import PatchError
from hark.patch.apply import Sent, patched_request
from hark.patch.rewrite import Rewrites, rewritten
from hark.patch.steps import Patch
from mediator.playback.altering import Altered


@dataclass(slots=True)
class Asking:
    """One fork's. A `mediator.playback.altering.Altering`."""

    request: Sent | None
    """The recorded request that is asked live; None where the fork goes live with an answer."""
    patch: Patch | None
    rewrites: Rewrites
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

    def _words(self) -> str:
        model = [] if self.rewrites.model is None else [f"-model {self.rewrites.model}"]
        return ", ".join((*model, *(f"-set {pointer}" for pointer, _ in self.rewrites.sets)))
