"""The process behind the connection that is handled, for whoever records or judges. Light to import."""

from contextvars import ContextVar
from typing import Final

from launcher.whose import UNKNOWN, Process

CALLER: Final[ContextVar[Process]] = ContextVar("CALLER", default=UNKNOWN)
"""The process behind the connection that the present task was started for."""
