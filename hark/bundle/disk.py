"""The file under a bundle that is being written: created once, locked, appended to, cut back, synced.

What always holds: the file is created by us (O_EXCL, mode 0600 whatever the umask) and locked for as long
as it is open, so there is one writer; `end` is the number of bytes that the kernel took, also after a
failed write. The lock is the open file's: a process forked meanwhile holds it too, until it closes its
copy.
"""

import fcntl
import os
import time
from typing import Final

LOCK_PATIENCE: Final = 2.0  # seconds; whoever lists runs asks for the lock too, and lets go at once
MAX_WRITE: Final = 1 << 30  # Linux takes at most 2**31 - 4096 bytes at once


class Disk:
    """One open bundle file. Every method but `close` raises OSError."""

    __slots__ = ("_fd", "_named", "end", "path")

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._named = False
        self.end = 0
        try:
            os.fchmod(self._fd, 0o600)
            _lock(self._fd)
        except BaseException:
            self.remove()
            raise

    def write(self, data: bytes) -> None:
        """Append all of `data`; if that fails, `end` says how far it came."""
        rest = memoryview(data)
        while rest:
            taken = os.write(self._fd, rest[:MAX_WRITE])
            self.end += taken
            rest = rest[taken:]

    def cut(self, size: int) -> None:
        """Cut the file back to its first `size` bytes."""
        os.ftruncate(self._fd, size)
        self.end = size

    def sync(self) -> None:
        """Have data and, the first time, the file's name on the disk."""
        os.fsync(self._fd)
        if not self._named:
            self.sync_directory()

    def sync_directory(self) -> None:
        """Have the file's name on the disk."""
        sync_directory(os.path.dirname(self.path) or ".")
        self._named = True

    def close(self) -> None:
        """Let the file and its lock go; again is harmless."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def remove(self) -> None:
        """Undo the creation of a file that never held anything."""
        self.close()
        os.unlink(self.path)


def sync_directory(path: str) -> None:
    """Have the names in the directory on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_locked(fd: int) -> bool:
    """Whether a writer has the open file `fd` locked."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _lock(fd: int) -> None:
    """Take the lock of a file that we just made; only a glance of `is_locked` can be in the way."""
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)
        else:
            return
