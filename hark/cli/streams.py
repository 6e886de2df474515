"""The standard streams as hark needs them: all three there, nothing in them that could change an exit code.

What always holds: a stream that the caller closed is /dev/null, before any file could be opened under its
number; a remark that nobody can take (standard error is full or its reader gone) is lost and changes nothing
else; a character that the terminal's encoding lacks is escaped. That standard output, which a command was
asked for, could not be written is left to be noticed.

What a run says of its agent is no such remark, since the agent may have filled the disk: it goes to standard
output then, or takes the place of an exit code that would say that all went well.
"""

import errno
import io
import os
import sys
from typing import Final, TextIO

from hark.errors import RecordError

STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""Name and mode by file descriptor."""

_CLOSED: Final[set[int]] = set()
"""Those that the caller had closed."""


class Remarks(io.TextIOWrapper):
    """A text stream that loses what cannot be written, where others raise."""

    failed: OSError | None = None
    """Why something was lost."""

    def write(self, text: str, /) -> int:
        """Write what can be written."""
        try:
            return super().write(text)
        except OSError as error:
            self.failed = error
            return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        try:
            super().flush()
        except OSError as error:
            self.failed = error


class Teller:
    """Says what a run has to say beside whatever its agent prints."""

    def __init__(self) -> None:
        self.lost = False
        """Whether a line could be written nowhere, though somebody may read."""

    def say(self, sentence: str) -> None:
        """Print one sentence for the user."""
        self.show(f"hark: {sentence}")

    def show(self, line: str) -> None:
        """Print one line of text to be copied, which nothing may stand in front of."""
        from hark.visible import printable

        text = printable(line)
        closed = OSError(errno.EBADF, os.strerror(errno.EBADF))
        error = closed if 2 in _CLOSED else _refused(sys.stderr, 2, text)
        if error is None or error.errno == errno.EPIPE:
            return  # who stopped reading wants none of it; an agent cannot bring that about
        if _is_null(1) or _refused(sys.stdout, 1, text) is not None:
            self.lost = True

    def code(self, code: int) -> int:
        """Return the exit code of a run that ended with `code`."""
        return code or (RecordError.exit_code if self.lost else 0)


def _refused(stream: TextIO, descriptor: int, text: str) -> OSError | None:
    """Print a line; the error if it cannot be written."""
    try:
        os.set_blocking(descriptor, True)  # the agent may have the same pipe, and have left it otherwise
        print(text, file=stream, flush=True)
    except OSError as error:
        return error
    return stream.failed if isinstance(stream, Remarks) else None


def _is_null(descriptor: int) -> bool:
    try:
        return os.fstat(descriptor).st_rdev == os.stat(os.devnull).st_rdev
    except OSError:
        return True


def reopen_missing() -> None:
    """Put /dev/null where a standard stream was closed."""
    for fd, (name, mode) in enumerate(STREAMS):
        try:
            os.fstat(fd)
        except OSError:
            _CLOSED.add(fd)
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
