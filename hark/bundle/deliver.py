"""Taking a sealed bundle to where the user asked for it (`-o`).

What always holds: nothing that exists is overwritten; the file at the destination has mode 0600 and is on
the disk before the one in the store is removed; if anything fails, the bundle stays in the store and the
error says where. A destination that could not take it is refused before the agent starts, and its directory
is held open from then on: whatever the agent puts at that path meanwhile, the bundle goes into the directory
that was checked, or stays in the store.
"""

import errno
import os
import stat
from typing import BinaryIO, Final, Self

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
    errno.EISDIR: "it is a directory; name a file in it",
}


class Destination:
    """A file that does not exist yet, in a directory that is held open."""

    __slots__ = ("_directory", "_name", "path")

    def __init__(self, path: str) -> None:
        """Take hold of the directory; an OSError or ValueError if the file could not be created in it."""
        self.path: Final = path
        self._name = os.path.basename(path)
        if self._name in {"", ".", ".."}:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self._directory = os.open(_parent(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    @classmethod
    def open(cls, path: str) -> Self:
        """Check that the file can be created, and leave nothing there; a PolicyError says why it cannot."""
        try:
            destination = cls(path)
            try:
                os.close(destination._create())
                destination._remove()
            except BaseException:
                destination.close()
                raise
        except (OSError, ValueError) as error:
            raise PolicyError(f"cannot write the bundle to {path}: {_words(error)}") from None
        return destination

    def deliver(self, source: str) -> None:
        """Move the bundle there; a RecordError says why that is not possible, and that it is at `source`."""
        try:
            self._refuse_another()
            try:
                os.link(source, self._name, dst_dir_fd=self._directory, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NO_LINK:
                    raise
                self._copy(source)
            os.fsync(self._directory)
        except (OSError, ValueError) as error:
            raise _not_moved(source, self.path, error) from error
        os.unlink(source)

    def close(self) -> None:
        """Let the directory go; again is harmless."""
        if self._directory >= 0:
            directory, self._directory = self._directory, -1
            os.close(directory)

    def _refuse_another(self) -> None:
        """Refuse where the path leads into another directory by now: nobody would look for the file here."""
        try:
            there = os.stat(_parent(self.path))
        except OSError:
            there = None
        if there is None or not os.path.samestat(there, os.fstat(self._directory)):
            raise ValueError("its directory is not the one that was there before the run")

    def _copy(self, source: str) -> None:
        """Copy to a file that must be new; it has its name once it is on the disk, where that is possible."""
        from hark.newfile import writing_in

        try:
            with writing_in(self._directory, self._name, 0o600) as writer:
                os.fchmod(writer.fileno(), 0o600)  # whatever the umask
                _pour(source, writer)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            self._copy_by_name(source)

    def _copy_by_name(self, source: str) -> None:
        """Copy where nothing can be linked; a copy that fails is removed, unless the process is killed."""
        out = self._create()
        try:
            with os.fdopen(out, "wb") as writer:
                _pour(source, writer)
        except BaseException:
            self._remove()
            raise

    def _create(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(self._name, flags, 0o600, dir_fd=self._directory)
        if stat.S_IMODE(os.fstat(fd).st_mode) != 0o600:  # an unusual umask
            os.fchmod(fd, 0o600)
        return fd

    def _remove(self) -> None:
        os.unlink(self._name, dir_fd=self._directory)


def check_destination(path: str) -> None:
    """Refuse, with a PolicyError, a destination that could not be created; leaves nothing behind."""
    Destination.open(path).close()


def deliver(source: str, destination: str) -> None:
    """Move the bundle; a RecordError says why that is not possible, and that it is still at `source`.

    For a destination that nobody could have changed since it was named; else see `Destination.open`.
    """
    try:
        place = Destination(destination)
    except (OSError, ValueError) as error:
        raise _not_moved(source, destination, error) from error
    try:
        place.deliver(source)
    finally:
        place.close()


def _pour(source: str, writer: BinaryIO) -> None:
    import shutil  # where a link across file systems is none

    with open(source, "rb") as reader:
        shutil.copyfileobj(reader, writer, COPY_BYTES)
    writer.flush()
    os.fsync(writer.fileno())


def _parent(path: str) -> str:
    return os.path.dirname(path) or "."


def _not_moved(source: str, destination: str, error: OSError | ValueError) -> RecordError:
    return RecordError(f"cannot move the bundle to {destination}: {_words(error)}; it is at {source}")


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return _WORDS.get(error.errno or 0) or str(error.strerror)
    return "the name holds a character that no file name may have" if "null" in str(error) else str(error)
