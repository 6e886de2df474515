"""Taking a sealed bundle to where the user asked for it (`-o`).

What always holds: nothing that exists is overwritten; the file at the destination has mode 0600 and is on
the disk before the one in the store is removed; if anything fails, the bundle stays in the store and the
error says where. A destination that could not take it is refused before the agent starts
(`check_destination`).
"""

import errno
import os
import shutil
import stat
from typing import Final

from hark.bundle.disk import sync_directory
from hark.errors import PolicyError, RecordError

COPY_BYTES: Final = 1 << 20

_NO_LINK: Final = frozenset({errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What `link` answers across devices, and on file systems that have no links: then the bundle is copied."""

_WORDS: Final = {
    errno.EEXIST: "it exists already, and hark overwrites nothing; choose another name or remove it",
    errno.ENOENT: "its directory does not exist; make it first",
    errno.ENOTDIR: "its directory is not a directory",
    errno.EACCES: "you may not write into its directory",
    errno.EPERM: "you may not write into its directory",
    errno.EROFS: "its file system is read-only",
    errno.ENOSPC: "no space is left there",
    errno.EDQUOT: "your quota there is used up",
    errno.ENAMETOOLONG: "the name is too long",
}


def check_destination(path: str) -> None:
    """Refuse, with a PolicyError, a destination that could not be created; leaves nothing behind."""
    try:
        os.close(_create(path))
        os.unlink(path)
    except (OSError, ValueError) as error:
        raise PolicyError(f"cannot write the bundle to {path}: {_words(error)}") from None


def deliver(source: str, destination: str) -> None:
    """Move the bundle; a RecordError says why that is not possible, and that it is still at `source`."""
    try:
        try:
            os.link(source, destination, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            _copy(source, destination)
        sync_directory(os.path.dirname(destination) or ".")
    except (OSError, ValueError) as error:
        words = f"cannot move the bundle to {destination}: {_words(error)}; it is at {source}"
        raise RecordError(words) from error
    os.unlink(source)


def _copy(source: str, destination: str) -> None:
    """Copy to a file that must be new, and have it on the disk; a copy that fails is removed."""
    out = _create(destination)
    try:
        with open(source, "rb") as reader, os.fdopen(out, "wb") as writer:
            shutil.copyfileobj(reader, writer, COPY_BYTES)
            writer.flush()
            os.fsync(writer.fileno())
    except BaseException:
        os.unlink(destination)
        raise


def _create(path: str) -> int:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if stat.S_IMODE(os.fstat(fd).st_mode) != 0o600:  # an unusual umask
        os.fchmod(fd, 0o600)
    return fd


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return _WORDS.get(error.errno or 0) or str(error.strerror)
    return "the name holds a character that no file name may have"
