"""The caller's terminal as a standard stream of an agent that is given none of its own.

Where the plan gives the agent no terminal of its own (`launcher.terminal`), a terminal that only output goes
to is opened for writing alone, and a run that starts in the background has an empty input instead of the
terminal. Otherwise it could read what is typed: its processes are in no session of that terminal, so the
kernel does not stop them. Such a run that is sent there later keeps its input.
"""

import fcntl
import os


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
