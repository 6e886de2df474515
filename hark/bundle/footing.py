"""Putting another footer behind a sealed bundle: what is said of it after it was sealed, such as an anchor.

What always holds: the path names the old file or the new one, each whole and on the disk, whenever we are
killed; all before the footer is copied byte for byte; mode and owner stay; of two that change one bundle the
second sees what the first put there. A bundle that is not sealed, is being written, may not be written, or
has a footer with something in it that is not understood here is left alone, in words. Other hard links to the
file keep the old footer.

Not done here: verifying the bundle, and signing anything.
"""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from hark.bundle import frame
from hark.bundle.disk import sync_directory
from hark.bundle.header import Footer, decode_footer, encode_footer
from hark.bundle.regular import open_regular
from hark.bundle.walk import AT_FOOTER, BundleFile
from hark.errors import BundleError, TruncatedError, UsageError

PATIENCE: Final = 10.0  # seconds; another change of the same footer takes as long as its copy
COPY_BYTES: Final = 1 << 20


def footer_of(file: BundleFile) -> tuple[int, Footer]:
    """Return where the footer of a sealed bundle begins, and what is in it."""
    walk = file.walk()
    for _ in walk:
        pass
    if walk.end != AT_FOOTER or (data := file.footer_block(walk.at)) is None:
        raise TruncatedError(f"{file.path} is not sealed: it has no footer, and nothing can be added to one")
    footer = decode_footer(data)
    if encode_footer(footer) != data:
        raise BundleError(f"the footer of {file.path} holds what this hark does not know; it is left alone")
    return walk.at, footer


def change_footer(path: str, change: Callable[[Footer], Footer]) -> Footer:
    """Replace the footer by what `change` makes of it, and return that. An error in it changes nothing."""
    real = os.path.realpath(path)
    with _locked(real) as fd, BundleFile(real) as file:
        status = os.fstat(fd)
        if not os.path.samestat(status, os.fstat(file.fd)):
            raise BundleError(f"{path} was replaced while it was read; try again")
        if not status.st_mode & stat.S_IWUSR:
            raise UsageError(f"{path} is read-only; to have it changed: chmod u+w {path}")
        at, footer = footer_of(file)
        changed = change(footer)
        end = frame.LENGTH.pack(frame.FOOTER_SENTINEL) + frame.block(encode_footer(changed))
        _replace(real, fd, at, end, status)
    return changed


@contextmanager
def _locked(path: str) -> Iterator[int]:
    """Hold the lock that writers hold, on the file that is at `path` then."""
    deadline = time.monotonic() + PATIENCE
    while True:
        fd = open_regular(path)
        try:
            if _lock(fd) and os.path.samestat(os.fstat(fd), os.stat(path)):
                yield fd
                return
        finally:
            os.close(fd)
        if time.monotonic() > deadline:
            raise UsageError(f"{path} is being written; try again when its run has ended")
        time.sleep(0.02)


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(path: str, source: int, until: int, end: bytes, status: os.stat_result) -> None:
    """Put a file in place of `path` that has the first `until` bytes of `source`, then `end`."""
    directory, name = os.path.split(path)
    draft = os.path.join(directory, f".{name}.{os.urandom(8).hex()}")
    try:
        _write(draft, source, until, end, status)
        os.rename(draft, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft)
        raise UsageError(f"cannot put a new footer behind {path}: {error.strerror}") from None
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    sync_directory(directory or ".")


def _write(draft: str, source: int, until: int, end: bytes, status: os.stat_result) -> None:
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb", buffering=0) as out:
        at = 0
        while at < until:
            data = os.pread(source, min(COPY_BYTES, until - at), at)
            if not data:
                raise BundleError("the bundle has become shorter while it was copied")
            at += out.write(data)
        rest = memoryview(end)
        while rest:
            rest = rest[out.write(rest) :]
        if (status.st_uid, status.st_gid) != (os.fstat(fd).st_uid, os.fstat(fd).st_gid):
            os.fchown(fd, status.st_uid, status.st_gid)
        os.fchmod(fd, stat.S_IMODE(status.st_mode))
        os.fsync(fd)
