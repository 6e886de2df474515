"""System calls that Python's os module has no name for, or whose errors it leaves without one.

Every function raises OSError with the call's name and argument in it, so that a failed step says which
one it was. Nothing here decides anything: order and meaning are in the modules that call these.
"""

import ctypes
import os
import struct
from typing import Final

MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_NOEXEC: Final = 0x8
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000
MNT_DETACH: Final = 2

ATTR_RDONLY: Final = 0x1
ATTR_NOSUID: Final = 0x2
ATTR_NODEV: Final = 0x4
ATTR_NOEXEC: Final = 0x8
ATTR_IDMAP: Final = 0x100000

AT_FDCWD: Final = -100
_AT_EMPTY_PATH: Final = 0x1000
_AT_RECURSIVE: Final = 0x8000
_OPEN_TREE_CLONE: Final = 0x1
_MOVE_F_EMPTY_PATH: Final = 0x4
_MOVE_T_EMPTY_PATH: Final = 0x40
_RESOLVE_NO_SYMLINKS: Final = 0x4

# Numbers from 424 on are the same on every architecture (asm-generic/unistd.h).
_OPEN_TREE: Final = 428
_OPENAT2: Final = 437
_MOVE_MOUNT: Final = 429
_CLOSE_RANGE: Final = 436
_MOUNT_SETATTR: Final = 442

_SPLICE_F_NONBLOCK: Final = 2

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NAME: Final = 15
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

_ADDR_NO_RANDOMIZE: Final = 0x0040000

_CAPABILITY_VERSION_3: Final = 0x20080522
_LAST_POSSIBLE_CAPABILITY: Final = 63  # capabilities are a 64-bit set
_FD_MAX: Final = (1 << 32) - 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), call)
    return result


def unshare(flags: int, what: str) -> None:
    """Leave the namespaces in `flags`; `what` says for the error what that was for."""
    try:
        os.unshare(flags)
    except OSError as error:
        raise OSError(error.errno, error.strerror, what) from error


def syscall(number: int, call: str, *args: object) -> int:
    """Make system call `number`; integers are passed at full width, bytes by address."""
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _check(_libc.syscall(ctypes.c_long(number), *wide), call)


def mount(kind: str, target: str, flags: int, options: str = "") -> None:
    """Mount a new instance of the file system `kind`; an empty kind changes propagation only."""
    source = kind.encode() or None
    result = _libc.mount(source, os.fsencode(target), source, ctypes.c_ulong(flags), options.encode() or None)
    _check(result, f"mount {kind or 'flags'} on {target}")


def unmount(target: str) -> None:
    """Take `target` out of the tree now; what still uses it keeps it alive, but no name leads there."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_root_here() -> None:
    """Make the working directory the root, with the old root stacked under it."""
    _check(_libc.pivot_root(b".", b"."), "pivot_root")


def open_tree(path: str) -> int:
    """Return a detached copy of the mounts at the canonical `path`.

    No part of `path` may be a symbolic link: whoever owns a folder above could put one there between our
    look and our use, and lead root elsewhere.
    """
    place = open_beneath(AT_FDCWD, path, path)
    try:
        return copy_tree(place, path)
    finally:
        os.close(place)


def open_beneath(folder: int, name: str, path: str) -> int:
    """A descriptor (O_PATH) of `name`, seen from the descriptor `folder`; no symbolic link is followed."""
    how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS)
    return syscall(_OPENAT2, f"open {path}", folder, os.fsencode(name), how, len(how))


def copy_tree(place: int, name: str) -> int:
    """A detached copy of the mounts at what the descriptor `place` stands for."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE | _AT_EMPTY_PATH
    return syscall(_OPEN_TREE, f"open_tree {name}", place, b"", flags)


def inotify() -> int:
    """A new inotify instance; reading from it does not wait."""
    return _check(_libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify_init1")


def watch(instance: int, path: str, events: int) -> int:
    """Be told of `events` at `path`; the number that they carry."""
    return _check(_libc.inotify_add_watch(instance, os.fsencode(path), events), f"inotify_add_watch {path}")


def tee(source: int, target: int, size: int) -> int:
    """Put up to `size` bytes of a pipe into another and leave them; 0 at its end. Does not wait."""
    return _check(_libc.tee(source, target, ctypes.c_size_t(size), _SPLICE_F_NONBLOCK), "tee")


def attach(tree: int, target: int, name: str) -> None:
    """Mount the detached `tree` over what the descriptor `target` stands for (`name` is for the error)."""
    flags = _MOVE_F_EMPTY_PATH | _MOVE_T_EMPTY_PATH
    syscall(_MOVE_MOUNT, f"move_mount to {name}", tree, b"", target, b"", flags)


def mount_setattr(tree: int, attributes: int, name: str, *, recursive: bool, userns: int = 0) -> None:
    """Set mount attributes on what the descriptor `tree` stands for, and below it if `recursive`."""
    _setattr(tree, name, struct.pack("QQQQ", attributes, 0, 0, userns), recursive=recursive)


def make_private(tree: int, name: str) -> None:
    """Let nothing that is mounted on the detached `tree` be mounted on what it was copied from."""
    _setattr(tree, name, struct.pack("QQQQ", 0, 0, MS_PRIVATE, 0), recursive=True)


def _setattr(tree: int, name: str, value: bytes, *, recursive: bool) -> None:
    flags = _AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0)
    syscall(_MOUNT_SETATTR, f"mount_setattr {name}", tree, b"", flags, value, len(value))


def close_range(first: int, last: int = _FD_MAX) -> None:
    """Close every descriptor from `first` to `last`."""
    if first <= last:
        syscall(_CLOSE_RANGE, "close_range", first, last, 0)


def prctl(call: str, option: int, *args: object) -> int:
    """Make one prctl; integers are passed at full width, buffers by address."""
    wide = [ctypes.c_ulong(arg) if isinstance(arg, int) else arg for arg in [*args, 0, 0, 0, 0][:4]]
    return _check(_libc.prctl(option, *wide), call)


def die_with_parent(signal_number: int) -> None:
    """Ask for `signal_number` when the parent dies. A change of credentials silently undoes this."""
    prctl("PR_SET_PDEATHSIG", _PR_SET_PDEATHSIG, signal_number)


def set_dumpable(*, dumpable: bool) -> None:
    """Whether /proc/<us> belongs to our uid (and may be traced by it) or to nobody inside."""
    prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, int(dumpable))


def set_name(name: str) -> None:
    """The name that ps shows for this process."""
    prctl("PR_SET_NAME", _PR_SET_NAME, ctypes.create_string_buffer(name.encode()[:15]))


def no_new_privileges() -> None:
    """From here on no exec gives this process more than it has."""
    prctl("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


def no_address_randomisation() -> None:
    """From the next exec on, programs lie at the same addresses in each run (personality(2))."""
    persona = _check(_libc.personality(ctypes.c_ulong(0xFFFFFFFF)), "personality")
    _check(_libc.personality(ctypes.c_ulong(persona | _ADDR_NO_RANDOMIZE)), "personality")


def drop_capabilities() -> None:
    """Empty the bounding, ambient, effective, permitted and inheritable sets."""
    for capability in range(_LAST_POSSIBLE_CAPABILITY + 1):
        if _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # EINVAL: the kernel knows no more of them
    prctl("PR_CAP_AMBIENT", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "capset")


def blank_arguments() -> None:
    """Overwrite the argument and environment strings that /proc/<us>/cmdline and environ show.

    A forked child has its own copy of these pages, so the supervisor keeps its own.
    """
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    # proc(5) counts from 1 and these start at field 3: 48 to 51 are arg_start, arg_end, env_start, env_end.
    starts_and_ends = [int(field) for field in fields[45:49]]
    for start, end in (starts_and_ends[:2], starts_and_ends[2:]):
        if 0 < start < end:
            ctypes.memset(start, 0, end - start)
