"""The launcher's child: makes the namespaces, hands out their sockets, and becomes the parent of process 1.

Order matters and is all here: root's trees before the user namespace, the user namespace before every
other, the networks before the process that will live in them. It asks to die with the supervisor again after
each change of credentials, because the kernel forgets the request then.
"""

import os
import signal
import socket
from typing import Final, NoReturn

from hark.errors import HarkError
from launcher import doorway, init, intake, kernel, landlock, mounts, network, seccomp, trees, whose, wire
from launcher.advice import explain
from launcher.caller import Inherited
from launcher.identity import Identity
from launcher.plan import Plan
from launcher.view import View, lay_out

_PRIVATE: Final = os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC | os.CLONE_NEWUTS | os.CLONE_NEWCGROUP


def run(
    plan: Plan, identity: Identity, inherited: Inherited, channel: socket.socket, supervisor: int
) -> NoReturn:
    """Build the boundary and wait for its end. Never returns."""
    step = "confine"
    try:
        os.setsid()  # signals from the caller's terminal are the supervisor's to handle
        _die_with(supervisor)
        kernel.set_name("hark-boundary")
        step = "landlock"
        abi = landlock.abi()
        seccomp.architecture()
        view = lay_out(plan)
        step = "mapping"
        mapping = trees.owner_mapping(identity) if identity.changed else None
        step = "trees"
        opened = trees.open_layers(view.layers, mapping) if identity.changed else None
        step = "user namespace"
        enter_user_namespace(identity)
        _die_with(supervisor)
        step = "network"
        sockets, unset = network.build(identity.inside[1])
        wire.send(channel, "sockets", str(abi), *unset, descriptors=tuple(s.fileno() for s in sockets))
        for opened_socket in sockets:
            opened_socket.close()
        if plan.published:
            door = doorway.open_behind(plan.published)
            wire.send(channel, "doorway", descriptors=(door.fileno(),))
            door.close()
        step = "namespaces"
        os.unshare(_PRIVATE)
        mounts.leave_host_propagation()
        step = "trees"
        opened = opened if opened is not None else trees.open_layers(view.layers, None)
        devices = trees.open_devices()
        _send_grants(channel, view, opened)
        life_read, life_write = os.pipe2(os.O_CLOEXEC)
        inside = init.Inside(plan, view, identity, inherited, channel, life_read)
        _hold(inside, life_write, opened, devices)
    except HarkError as error:
        init.fail(channel, str(error))
    except OSError as error:
        init.fail(channel, explain(step, error))
    except BaseException as error:  # noqa: BLE001  (whatever it is, the supervisor must hear of it)
        init.fail(channel, f"cannot build the boundary ({step}): {type(error).__name__}: {error}")
    os._exit(1)


def _die_with(supervisor: int) -> None:
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)  # it died before the request was made


def enter_user_namespace(identity: Identity) -> None:
    """Enter a user namespace that knows one uid and one gid: the identity's, by the ids seen inside."""
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


def _send_grants(channel: socket.socket, view: View, opened: dict[str, trees.Tree]) -> None:
    fields: list[str] = []
    for layer in view.layers:
        if layer.path in opened:
            fields += (layer.path, layer.kind.value, layer.why, opened[layer.path].how.value)
    wire.send(channel, "grants", *fields)
    wire.send(channel, "withheld", *view.withheld)


def _hold(
    inside: init.Inside, life_write: int, opened: dict[str, trees.Tree], devices: dict[str, trees.Tree]
) -> NoReturn:
    """Fork process 1, which may not be the supervisor's own child, and tell whose a connection is."""
    child = os.fork()
    if child == 0:
        os.close(life_write)
        init.run(inside, opened, devices)
    intake.let_go()
    # This process keeps a copy of the supervisor's memory under the agent's uid.
    kernel.set_dumpable(dumpable=False)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = os.pidfd_open(child)
    wire.send(inside.channel, "init", descriptors=(process, theirs.fileno()))
    theirs.close()
    inside.channel.close()
    whose.serve(ours, process)
    os.waitpid(child, 0)
    os._exit(0)
