"""Whose an action was: the process of the agent that made its connection, as the record has it.

What always holds: a process is named only where the record says so; what it says is what the kernel told of
the connection, and the program's own word for its arguments. Files, programs and names have none.
"""

from typing import NamedTuple

from hark.bundle import events as ev
from hark.replay.actions import Action, Frames
from hark.visible import visible


class Process(NamedTuple):
    """One process, by the number that the agent saw."""

    pid: int
    program: str = ""
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        line = visible(" ".join(self.arguments) or self.program)
        return f"process {self.pid}{f': {line}' if line else ''}"

    def to_json(self) -> dict[str, object]:
        """Return it as what `json` can write."""
        words = [visible(word) for word in self.arguments]
        return {"pid": self.pid, "program": visible(self.program), "arguments": words}


def whose(frames: Frames, action: Action) -> Process | None:
    """Return whose an action was, if that is known. `frames` are all of its run's; they are read up to it."""
    seen: dict[int, Process] = {}
    by_exchange: dict[int, int] = {}
    by_server: dict[str, int] = {}
    found = 0
    for seq, _, event in frames:
        if seq > action.seq:
            break
        match event:
            case ev.EgressAttempt():
                found = event.process
                seen[event.process] = Process(event.process, event.program, event.arguments)
            case ev.LlmRequest():
                found = by_exchange[event.exchange] = event.process
            case ev.TunnelData():
                found = by_exchange.setdefault(event.exchange, event.process)
            case ev.WebSocketMessage():
                found = by_exchange.get(event.exchange, 0)
            case ev.McpMessage():
                found = by_server[event.server] = event.process
            case ev.ToolCallRequest() | ev.ToolCallResult():
                found = by_server.get(event.server, 0)
            case _:
                found = 0
    return seen.get(found, Process(found)) if found else None
