"""What a layer waits for: that the record is on the disk, before it answers a denial; and for what takes long
to be searched (`mediator.sliced`).

Only this layer waits; others, and other connections, go on. `mediator.handler` answers it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mitmproxy.proxy import commands

from hark.replay.pieces import Part


@dataclass
class SettledHook(commands.StartHook):  # type: ignore[no-untyped-call]
    """Wait until all that was recorded up to now is on the disk, and in a replay for a refusal's turn."""

    turn: Part | None = None
    blocking = True


@dataclass
class SlicedHook(commands.StartHook):  # type: ignore[no-untyped-call]
    """Wait until this is done, in slices. What it raised is raised where it was asked for."""

    work: Callable[[], object]
    result: object = None
    error: Exception | None = None
    blocking = True
