"""The standard streams as hark needs them: all three there, nothing in them that could change an exit code.

What always holds: a stream that the caller closed is /dev/null, before any file could be opened under its
number; a remark that nobody can take (standard error is full or its reader gone) is lost and changes nothing
else; a character that the terminal's encoding lacks is escaped. That standard output, which a command was
asked for, could not be written is left to be noticed.
"""

import io
import os
import sys
from typing import Final

STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""Name and mode by file descriptor."""


class Remarks(io.TextIOWrapper):
    """A text stream that loses what cannot be written, where others raise."""

    def write(self, text: str, /) -> int:
        """Write what can be written."""
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        try:
            super().flush()
        except OSError:
            return


def reopen_missing() -> None:
    """Put /dev/null where a standard stream was closed."""
    for fd, (name, mode) in enumerate(STREAMS):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes `fd`, the lowest free number
            os.set_inheritable(fd, True)  # noqa: FBT003 (its only spelling)
        if getattr(sys, name) is None:
            setattr(sys, name, open(fd, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 (lives as long as we)


def forgive_errors() -> None:
    """Have standard error lose what it cannot take."""
    stream = sys.stderr
    if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, Remarks):
        encoding, through = stream.encoding, stream.write_through
        sys.stderr = Remarks(stream.detach(), encoding, line_buffering=True, write_through=through)
        sys.__stderr__ = sys.stderr  # type: ignore[misc] # the interpreter flushes it once more at the very end


def escape() -> None:
    """Have what the encoding lacks written as an escape; undecodable file names too."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def abandon_output() -> None:
    """Point standard output at /dev/null, or the interpreter complains once more when it flushes at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)
