"""A tool server of the operator's, ready to be started: everything resolved, nothing left to be looked up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hark.policy.model import ToolRule

FIRST_PORT: Final = 6270
"""On the gateway's own address, where nothing is that the agent could mean otherwise; one port a server."""


@dataclass(frozen=True, slots=True)
class Program:
    """One `[mcp.NAME]`. Holds real secrets in `env`: never logged or recorded."""

    name: str
    argv: tuple[str, ...]
    """Begins with an absolute path."""
    env: Mapping[str, str] = field(repr=False)
    workdir: str
    tools: tuple[ToolRule, ...] | None
    port: int

    def __str__(self) -> str:
        return f"mcp.{self.name}"
