"""How much work something is, in lines of Python: the same on every machine, however busy it is."""

import sys
from collections.abc import Callable
from typing import Final

_TOOL: Final = 4  # sys.monitoring's numbers 3 and 4 are nobody's


def steps(work: Callable[[], object], below: str = "hark") -> int:
    """Run `work`; return how many lines `below` a package it executed, those of loops each time."""
    counted = 0
    monitoring = sys.monitoring

    def line(code: object, _number: int) -> object:
        nonlocal counted
        if f"/{below}/" not in code.co_filename:  # type: ignore[attr-defined]
            return monitoring.DISABLE
        counted += 1
        return None

    monitoring.use_tool_id(_TOOL, "steps")
    monitoring.restart_events()
    try:
        monitoring.register_callback(_TOOL, monitoring.events.LINE, line)
        monitoring.register_callback(_TOOL, monitoring.events.JUMP, lambda code, *_: line(code, 0))
        monitoring.set_events(_TOOL, monitoring.events.LINE | monitoring.events.JUMP)
        work()
    finally:
        monitoring.set_events(_TOOL, 0)
        monitoring.free_tool_id(_TOOL)
    return counted
