"""What a layer yields before it answers a denial: the rest of it goes on once the record is on the disk.

Only this layer waits; others, and other connections, go on. `mediator.handler` answers it.
"""

from dataclasses import dataclass

from mitmproxy.proxy import commands

from hark.replay.pieces import Part


@dataclass
class SettledHook(commands.StartHook):  # type: ignore[no-untyped-call]
    """Wait until all that was recorded up to now is on the disk, and in a replay for a refusal's turn."""

    turn: Part | None = None
    blocking = True
