"""The launcher's child: makes the namespaces, hands out their sockets, and becomes the parent of process 1.

Order matters and is all here: root's trees before the user namespace, the user namespace before every
other, the networks before the process that will live in them. Networks that were made ahead
(`launcher.ahead`) are entered where others are made. It asks to die with the supervisor again after
each change of credentials, because the kernel forgets the request then.
"""

import os
import signal
import socket
from typing import Final, NoReturn

from hark.errors import HarkError
from launcher import doorway, init, intake, kernel, landlock, mounts, seccomp, trees, whose, wire
from launcher.advice import explain
from launcher.ahead import Networks, received
from launcher.caller import Inherited
from launcher.identity import Identity
from launcher.plan import Plan
from launcher.userspace import enter_user_namespace, join_user_namespace
from launcher.view import View, lay_out

_PRIVATE: Final = os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC | os.CLONE_NEWUTS | os.CLONE_NEWCGROUP


def run(
    plan: Plan,
    identity: Identity,
    inherited: Inherited,
    channel: socket.socket,
    supervisor: int,
    *,
    ahead: socket.socket | None = None,
) -> NoReturn:
    """Build the boundary and wait for its end. Never returns.

    `ahead` is where networks are handed over that were made for this identity (`launcher.ahead`).
    """
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
        made = None if ahead is None else received(ahead)  # closes it
        _enter(made, identity)
        _die_with(supervisor)
        step = "network"
        sockets, unset = _connect(made, identity)
        wire.send(channel, "sockets", str(abi), *unset, descriptors=sockets)
        for descriptor in sockets:
            os.close(descriptor)
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


def _enter(made: Networks | None, identity: Identity) -> None:
    """Enter the user namespace: that of the networks which were made ahead, else a new one."""
    if made is not None:
        join_user_namespace(made.user, identity)
        os.close(made.user)
        return
    # Before the change of user, who may not read where Python is installed.
    import launcher.network  # noqa: F401

    enter_user_namespace(identity)


def _connect(made: Networks | None, identity: Identity) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Enter the agent's network; return the gateway's sockets, and the settings that could not be made."""
    if made is None:
        from launcher import network

        sockets, unset = network.build(identity.inside[1])
        return tuple(one.detach() for one in sockets), tuple(unset)
    os.setns(made.net, os.CLONE_NEWNET)
    os.close(made.net)
    return made.sockets, made.unset


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
