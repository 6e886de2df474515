"""A new file that appears under its name when it is whole, and not before.

Always: nothing that exists is written over or removed, whoever puts it there and whenever. Until it is whole
the file has no name, so a process that is killed leaves nothing, and a directory that is moved meanwhile
takes it along. On a file system without nameless files (NFS, FUSE) it has its name from the beginning, and
is removed if it is not finished, unless the process is killed.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

_NAMELESS: Final = os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC
_NAMED: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HAS_NONE: Final = frozenset((errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS))
"""What a file system or a kernel answers that has no nameless files."""


@contextmanager
def writing(path: str, mode: int) -> Iterator[BinaryIO]:
    """Give the file to be written. Raises an OSError that names it where it cannot be made."""
    above, name = os.path.split(path)
    try:
        directory = os.open(above or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _named(error, path) from None
    try:
        with writing_in(directory, name, mode) as file:
            yield file
    except OSError as error:
        raise _named(error, path) from None
    finally:
        os.close(directory)


@contextmanager
def writing_in(directory: int, name: str, mode: int) -> Iterator[BinaryIO]:
    """Give the file to be written in a directory that is held open. Raises OSError."""
    try:
        descriptor = os.open(".", _NAMELESS, mode, dir_fd=directory)
    except OSError as error:
        if error.errno not in _HAS_NONE:
            raise
        with _from_the_beginning(directory, name, mode) as file:
            yield file
        return
    with open(descriptor, "wb") as file:
        yield file
        file.flush()
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=directory, follow_symlinks=True)


@contextmanager
def _from_the_beginning(directory: int, name: str, mode: int) -> Iterator[BinaryIO]:
    descriptor = os.open(name, _NAMED, mode, dir_fd=directory)
    try:
        with open(descriptor, "wb") as file:
            yield file
    except BaseException:
        os.unlink(name, dir_fd=directory)
        raise


def _named(error: OSError, path: str) -> OSError:
    """Return the error as one of the file, unless it is another file's or a reader's that went away."""
    ours = error.filename is None or str(error.filename).startswith("/proc/self/fd/")
    relative = error.filename in {os.path.basename(path), os.path.dirname(path), "."}
    if isinstance(error, BrokenPipeError) or not (ours or relative):
        return error
    return OSError(error.errno, error.strerror, path)
