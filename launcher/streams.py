"""The standard streams, where Landlock does not hold the way back to what they lead to.

A descriptor can be opened anew through /proc/self/fd with other rights than it has. Landlock refuses that; in
a nested run there is none over files. So a file that is read from is handed to a nested agent as a sealed
copy. A file that is written to stays: the agent may read what else stands in it.

Where the plan gives the agent no terminal of its own (`launcher.terminal`), a terminal that only output goes
to is opened for writing alone, and a run that starts in the background has an empty input instead of the
terminal. Otherwise it could read what is typed: its processes are in no session of that terminal, so the
kernel does not stop them. Such a run that is sent there later keeps its input.
"""

import fcntl
import os
import stat
from typing import Final

from hark.errors import ConfinementError
from launcher.intake import is_copy

MAX_COPY: Final = 64 << 20  # bytes of memory that a nested run's input may take
_SEALS: Final = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_STEP: Final = 1 << 20


def write_only_terminals() -> None:
    """In the caller's process: take the right to read from terminals that are standard output and error.

    Where the terminal cannot be opened again, as after su(1), they stay as they are.
    """
    for descriptor in (1, 2):
        if not os.isatty(descriptor) or fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDWR:
            continue
        try:
            opened = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NOCTTY)
        except OSError:
            continue
        os.dup2(opened, descriptor)
        os.close(opened)


def empty_input_in_background() -> None:
    """In the caller's process: /dev/null for a terminal whose foreground is somebody else's."""
    if not os.isatty(0):
        return
    try:
        foreground = os.tcgetpgrp(0)
    except OSError:
        return  # it is not the terminal of our session, whose jobs share it
    if foreground != os.getpgrp():
        opened = os.open("/dev/null", os.O_RDONLY)
        os.dup2(opened, 0)
        os.close(opened)


def copy_input() -> None:
    """In the agent's process: put a sealed copy in the place of a file that is standard input.

    Raises ConfinementError if it is too large.
    """
    status = os.fstat(0)
    if not stat.S_ISREG(status.st_mode):
        return
    if status.st_size > MAX_COPY:
        raise ConfinementError(
            f"standard input is a file of {status.st_size} bytes, too many for a nested run: use a pipe"
        )
    if is_copy(0):
        return
    position = os.lseek(0, 0, os.SEEK_CUR)
    copy = os.memfd_create("hark-input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    offset = 0
    while chunk := os.pread(0, _STEP, offset):
        offset += os.write(copy, chunk)
        if offset > MAX_COPY:
            raise ConfinementError("standard input grows while it is read: use a pipe")
    fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _SEALS)
    os.lseek(copy, position, os.SEEK_SET)
    os.dup2(copy, 0)
    os.close(copy)
