"""In process 1: the files that shims and supervisor share (`launcher.pages`), where the agent finds them.

The page that the agent sees is another mount of the same file: read-only, while this process holds the one
that is not. Both take part in no grant, and neither can be unmounted or replaced from inside.
"""

import contextlib
import os
from typing import Final

from launcher import kernel
from launcher.pages import FOLDER, KERNEL_LOG_BYTES, LOG_BYTES, PAGE_BYTES

_ROOM: Final = LOG_BYTES + KERNEL_LOG_BYTES + (64 << 10)


def show(scaffold: str) -> tuple[int, int, int]:
    """Put both files in place. Return descriptors: the page, written by it; the log, read by it; and a file
    that has no place inside, for what process 1 keeps itself (`launcher.rows`).

    `scaffold` is a place that does not exist yet, and does not afterwards.
    """
    os.mkdir(scaffold)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("tmpfs", scaffold, flags, f"mode=755,size={_ROOM}")
    os.makedirs(FOLDER, exist_ok=True)
    page = _file(f"{scaffold}/page", PAGE_BYTES, 0o444)
    log = _file(f"{scaffold}/log", LOG_BYTES, 0o666)
    own = _file(f"{scaffold}/own", 0, 0o400)
    os.unlink(f"{scaffold}/own")
    for name, more in (("page", kernel.ATTR_RDONLY), ("log", 0)):
        tree = kernel.open_tree(f"{scaffold}/{name}")
        kernel.mount_setattr(tree, kernel.ATTR_NOSUID | kernel.ATTR_NODEV | more, name, recursive=False)
        target = f"{FOLDER}/{name}"
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444))
        place = os.open(target, os.O_PATH | os.O_CLOEXEC)
        kernel.attach(tree, place, target)
        os.close(place)
        os.close(tree)
    kernel.unmount(scaffold)
    os.rmdir(scaffold)
    return page, log, own


def _file(path: str, length: int, mode: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    # Under the caller's limit on file sizes (ulimit -f) the log may have no room: the shims then keep none.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, length)
    os.fchmod(descriptor, mode)
    return descriptor
