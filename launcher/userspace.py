"""Entering a user namespace that knows one uid and one gid: one of our own making, or one that is there.

Whoever enters has every capability in it and none outside. Root gives up its uid, which is unknown in there.
"""

import os
import signal

from launcher import kernel
from launcher.identity import Identity


def enter_user_namespace(identity: Identity) -> None:
    """Enter a new one, which knows the identity's uid and gid, by the ids seen inside."""
    if identity.changed:
        _enter_as_root(identity)
        return
    os.unshare(os.CLONE_NEWUSER)
    for name, value in (
        ("setgroups", "deny"),
        ("uid_map", f"{identity.inside[0]} {identity.uid} 1"),
        ("gid_map", f"{identity.inside[1]} {identity.gid} 1"),
    ):
        _write_map(os.getpid(), name, value)


def join_user_namespace(namespace: int, identity: Identity) -> None:
    """Enter one that a process of ours has entered as `enter_user_namespace` does, by a descriptor of it."""
    os.setns(namespace, os.CLONE_NEWUSER)
    if identity.changed:
        _give_up_root(identity)


def _enter_as_root(identity: Identity) -> None:
    """Root keeps the namespace's ownership and gives up its uid in it.

    The maps name another uid than ours, so a process that stayed outside has to write them.
    """
    entered_read, entered_write = os.pipe()
    mapped_read, mapped_write = os.pipe()
    parent = os.getpid()
    helper = os.fork()
    if helper == 0:
        try:
            kernel.die_with_parent(signal.SIGKILL)
            os.close(entered_write)
            if os.read(entered_read, 1):
                _write_map(parent, "uid_map", f"{identity.inside[0]} {identity.uid} 1")
                _write_map(parent, "gid_map", f"{identity.inside[1]} {identity.gid} 1")
                os.write(mapped_write, b"m")
        finally:
            os._exit(0)
    os.close(mapped_write)
    try:
        os.unshare(os.CLONE_NEWUSER)
        os.write(entered_write, b"e")
        mapped = os.read(mapped_read, 1)
    finally:
        for descriptor in (entered_read, entered_write, mapped_read):
            os.close(descriptor)
        os.waitpid(helper, 0)
    if not mapped:
        raise OSError(1, "Operation not permitted", "uid_map")
    _give_up_root(identity)


def _give_up_root(identity: Identity) -> None:
    os.setgroups([])
    uid, gid = identity.inside
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # The change of uid made /proc/self another's; what follows opens files in it.
    kernel.set_dumpable(dumpable=True)


def _write_map(process: int, name: str, value: str) -> None:
    # As bytes: a codec may have to be imported, and the agent's uid may not read where Python is installed.
    with open(f"/proc/{process}/{name}", "wb") as file:
        file.write(value.encode())
