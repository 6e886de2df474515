"""Opening what the user named as a file: regular files only, so that nothing waits and nothing is endless.

What always holds: opening never blocks (a pipe without a writer) and never makes a terminal ours; what is
opened is the file that was looked at, and its words say what it is instead if it is none.
"""

import errno
import os
import stat
from typing import Final

_WORDS: Final = (
    (stat.S_ISDIR, errno.EISDIR, "it is a directory"),
    (stat.S_ISFIFO, errno.EINVAL, "it is a pipe, and hark reads regular files only"),
    (stat.S_ISCHR, errno.EINVAL, "it is a device, and hark reads regular files only"),
    (stat.S_ISBLK, errno.EINVAL, "it is a device, and hark reads regular files only"),
)


def open_regular(path: str) -> int:
    """A descriptor to read `path` with; an OSError that names it if it is no regular file."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(fd).st_mode
    for is_one, number, words in _WORDS:
        if is_one(mode):
            os.close(fd)
            raise OSError(number, words, path)
    return fd
