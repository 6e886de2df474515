"""The end of a record: its last event, the seal, the move to where it was asked for, and the anchor.

What always holds: a record that cannot be sealed or moved stays whole where it lies, and that place is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hark.errors import RecordError

if TYPE_CHECKING:
    from hark.bundle.deliver import Destination
    from hark.bundle.tree_head import TreeHead
    from hark.bundle.writer import Writer
    from hark.running.keeping import Place


class Delivery:
    """Seals one record and brings it to its place. `say` gets each sentence that the user should see."""

    def __init__(self, place: Place, say: Callable[[str], None]) -> None:
        self._place = place
        self._say = say
        self._destination: Destination | None = None
        self.lies_at = place.path
        """Where the record lies; elsewhere once it was moved."""
        self.failure: str | None = None
        """Why it was not sealed."""

    def hold(self) -> None:
        """Hold the folder open that it goes to. After the fork, so that no process inside has it."""
        if self._place.output is not None:
            from hark.bundle.deliver import Destination

            self._destination = Destination.open(self._place.output)

    @property
    def is_moved(self) -> bool:
        """Tell whether the record lies where it was asked for."""
        return self._destination is None or self.lies_at == self._destination.path

    def seal(self, writer: Writer, reason: str, code: int, *, said: str | None) -> bool:
        """Write the end, sign the file and move it; False if it stays unsealed, or where it lies.

        `said` is a failure that the user has been told of.
        """
        from hark.bundle.bounds import RunEnd

        try:
            writer.append(RunEnd(ended_at=time.time_ns(), exit_code=code, reason=reason))
            sealed = writer.seal(reason, self._place.key)
        except RecordError as error:
            why = "" if str(error) == said else f": {error}"
            self.failure = f"the record was not sealed{why}"
            self._say(f"{self.failure}; what there is lies in {self.lies_at}")
            return False
        if self._destination is not None:
            try:
                self._destination.deliver(self.lies_at)  # while the lock is held no clean-up takes it away
            except RecordError as error:
                self._say(str(error))
                return False
            self.lies_at = self._destination.path
        writer.close()
        self._say(f"recorded {sealed.leaf_count} events in {self.lies_at}")
        self._anchor(sealed.tree_head)
        return True

    def _anchor(self, head: TreeHead | None) -> None:
        """Have the sealed file anchored where that was asked for, and say what came of it."""
        if self._place.anchor is None or head is None:
            return
        from hark.anchoring.sealed import anchored

        for sentence in anchored(self.lies_at, self._place.key, self._place.anchor, head):
            self._say(sentence)
