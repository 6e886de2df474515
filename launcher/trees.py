"""Detached copies of what the host grants, each with its final mount attributes.

They are taken while the host's paths can still be walked: for root before it enters the user namespace
(inside, its uid could not pass a 0700 parent such as /root), for everybody else right after. Every copy is
nosuid and nodev; a read grant is read-only with all that is mounted below it.

Root's agent is another uid. So that it can use what only root can, those trees are shown with root's files as
the agent's own (an idmapped mount): what the agent creates there belongs to root on disk.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hark.errors import ConfinementError
from launcher import kernel
from launcher.identity import Identity
from launcher.view import Kind, Layer

_ID_COUNT: Final = (1 << 32) - 1
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")


class How(Enum):
    """In which way the agent meets the owners of a granted tree's files."""

    PLAIN = "as on disk"
    MAPPED = "root's files as the agent's own"
    UNMAPPABLE = "as on disk, since the file system cannot map owners"


@dataclass(frozen=True, slots=True)
class Tree:
    """One detached mount."""

    descriptor: int
    directory: bool
    how: How


def _wants_mapping(layer: Layer, status: os.stat_result) -> bool:
    """Whether root's agent needs root's view: to write what root owns, or read what only root can."""
    if status.st_uid != 0:
        return False
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    return layer.kind is Kind.WRITE or (status.st_mode & needed) != needed


def _open(path: str) -> tuple[int, os.stat_result]:
    try:
        tree = kernel.open_tree(path)
        return tree, os.fstat(tree)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EPERM):
            raise  # the host's doing, whatever the path
        raise ConfinementError(f"cannot grant {path}: {os.strerror(error.errno or 0).lower()}") from error


def open_layers(layers: Iterable[Layer], mapping: int | None) -> dict[str, Tree]:
    """Open every granted layer. `mapping` is a user namespace that shows root's files as the agent's."""
    trees = {}
    for layer in layers:
        if layer.kind is Kind.SCRATCH:
            continue
        descriptor, status = _open(layer.origin)
        # A copy of a shared mount is its peer: our masks and inner grants would appear on the host.
        kernel.make_private(descriptor, layer.origin)
        how = How.PLAIN
        if mapping is not None and _wants_mapping(layer, status):
            how = _map_owners(descriptor, layer.origin, mapping)
        attributes = kernel.ATTR_NOSUID | kernel.ATTR_NODEV
        if layer.kind is Kind.READ:
            attributes |= kernel.ATTR_RDONLY
        kernel.mount_setattr(descriptor, attributes, layer.origin, recursive=True)
        trees[layer.path] = Tree(descriptor, stat.S_ISDIR(status.st_mode), how)
    return trees


def _map_owners(descriptor: int, path: str, mapping: int) -> How:
    try:
        kernel.mount_setattr(descriptor, kernel.ATTR_IDMAP, path, recursive=True, userns=mapping)
    except OSError:
        return How.UNMAPPABLE
    return How.MAPPED


def open_devices() -> dict[str, Tree]:
    """The harmless devices, by the name they have in /dev."""
    trees = {}
    for name in _DEVICES:
        path = os.path.realpath(f"/dev/{name}")
        descriptor = kernel.open_tree(path)
        kernel.mount_setattr(descriptor, kernel.ATTR_NOSUID | kernel.ATTR_NOEXEC, path, recursive=False)
        trees[name] = Tree(descriptor, directory=False, how=How.PLAIN)
    return trees


def swapped(identifier: int) -> str:
    """An id map that exchanges 0 and `identifier` and leaves the rest: inside, outside, count."""
    ranges = [(0, identifier, 1), (identifier, 0, 1)]
    if identifier > 1:
        ranges.append((1, 1, identifier - 1))
    ranges.append((identifier + 1, identifier + 1, _ID_COUNT - identifier - 1))
    return "".join(f"{inside} {outside} {count}\n" for inside, outside, count in ranges)


def owner_mapping(identity: Identity) -> int:
    """A user namespace that maps root's files to `identity`; only the real root can make one.

    It lives as long as the descriptor: the process that was born in it is gone when this returns.
    """
    ready_read, ready_write = os.pipe()
    done_read, done_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.unshare(os.CLONE_NEWUSER)
            os.write(ready_write, b"r")
            os.close(done_write)
            os.read(done_read, 1)
        finally:
            os._exit(0)
    os.close(ready_write)
    try:
        if not os.read(ready_read, 1):
            raise OSError(1, "Operation not permitted", "unshare user namespace")
        for name, number in (("uid_map", identity.uid), ("gid_map", identity.gid)):
            with open(f"/proc/{child}/{name}", "wb") as file:
                file.write(swapped(number).encode())
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for descriptor in (ready_read, done_read, done_write):
            os.close(descriptor)
        os.waitpid(child, 0)
