"""Process 1 inside: builds the view, holds the agent back until it is told to start it, and then watches.

Always holds: when this process ends, so does every process inside, however it was daemonised. It ends when
the agent does, when the supervisor's end of the channel closes, when its parent dies, and on any error of
its own. Its memory is a copy of the supervisor's, so it is not dumpable, its arguments and environment are
blanked, and Landlock keeps the agent from tracing or signalling it.
"""

import contextlib
import fcntl
import os
import select
import signal
import socket
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from hark.errors import HarkError
from launcher import ceilings, intake, kernel, mounts, quotas, seccomp, sharing, unshimmed, wire
from launcher.advice import explain
from launcher.caller import Inherited
from launcher.confine import Agent, become
from launcher.covers import Covers
from launcher.draws import Draws, open_page
from launcher.identity import Identity
from launcher.plan import HOSTNAME, Plan
from launcher.processors import Answers
from launcher.refusals import Refusals, read_status
from launcher.trees import Tree
from launcher.unshimmed import Unshimmed
from launcher.view import Kind, View
from launcher.watch import Watch

_TIOCSPTLCK: Final = 0x40045431  # unlocks the other end of a new pseudo-terminal


@dataclass(frozen=True, slots=True)
class Inside:
    """What process 1 is given by the one that made its namespaces."""

    plan: Plan
    view: View
    identity: Identity
    inherited: Inherited
    channel: socket.socket
    life: int
    """A pipe that only the parent holds the other end of: end of file means that it is gone."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What process 1 is told of by the kernel while the agent runs."""

    refusals: Refusals | None
    """None where nobody is refused a user namespace."""
    covers: Covers


def run(inside: Inside, trees: Mapping[str, Tree], devices: Mapping[str, Tree]) -> NoReturn:
    """Be process 1."""
    try:
        kernel.die_with_parent(signal.SIGKILL)
        os.setsid()
        kernel.set_name("hark-init")
        socket.sethostname(HOSTNAME)
        kernel.blank_arguments()
        os.environ.clear()
        quotas.leave_half()
        uncovered = mounts.build(inside.plan, inside.view, trees, devices, inside.identity)
        own = _share(inside.channel) if inside.plan.shim else -1
        terminal = _open_terminal() if inside.plan.terminal else None
        master = () if terminal is None else (terminal[0],)
        wire.send(inside.channel, "ready", *uncovered, descriptors=master)
        if terminal is not None:
            os.close(terminal[0])
        _start_and_watch(inside, None if terminal is None else terminal[1], own)
    except HarkError as error:
        fail(inside.channel, str(error))
    except OSError as error:
        fail(inside.channel, explain("mounts", error))
    except BaseException as error:  # noqa: BLE001  (nothing may run on without its init)
        fail(inside.channel, f"cannot start the agent: {type(error).__name__}: {error}")
    finally:
        os._exit(0)


def fail(channel: socket.socket, reason: str) -> None:
    """Tell the supervisor why there is no boundary; it may be gone already."""
    with contextlib.suppress(OSError):
        wire.send(channel, "failed", wire.CONFINEMENT, reason)


def _share(channel: socket.socket) -> int:
    """Make what the shims and the supervisor share, and hand it over. Return the descriptor that is kept."""
    page, log, own = sharing.show(f"{mounts.SCAFFOLD}/shim")
    wire.send(channel, "shared", descriptors=(page, log, own))
    os.close(page)
    os.close(log)
    return own


def _open_terminal() -> tuple[int, int]:
    master = os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    fcntl.ioctl(master, _TIOCSPTLCK, b"\0\0\0\0")
    slave = os.open("/dev/pts/0", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    return master, slave


def _start_and_watch(inside: Inside, terminal: int | None, own: int) -> None:
    message = _await_start(inside)
    if message is None:
        return
    files = dict(inside.plan.files)
    if message.descriptors:
        files.update(wire.unpack_files(message.descriptors[0]))
    over = mounts.show_files(files, inside.view)
    covers = mounts.watched(inside.view, over)
    mounts.finish(inside.plan.workdir)
    _die_first()
    # Not before: the proc files that mounting and the terminal need would belong to nobody.
    kernel.set_dumpable(dumpable=False)
    wake = _wake_on_children()
    without = unshimmed.prepare(inside.plan.seed, own) if not inside.plan.nested else None
    spawned = _spawn(inside, tuple(files), terminal, covers, without)
    if spawned is None:
        return
    intake.let_go()
    try:
        agent, refusals = spawned
        _watch(inside, agent, wake, _ceilings(inside), Heard(refusals, covers))
    except Exception as error:  # noqa: BLE001  (the agent ends with this process, and the record says why)
        fail(inside.channel, f"the process that watches the agent failed: {type(error).__name__}: {error}")


def _die_first() -> None:
    """Where the machine runs out of memory, have all inside ended for it before the supervisor and others."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(b"1000")


def _await_start(inside: Inside) -> wire.Message | None:
    poll = select.poll()
    poll.register(inside.channel, select.POLLIN)
    poll.register(inside.life, select.POLLIN)
    ready = dict(poll.poll())
    if inside.life in ready:
        return None
    message = wire.receive(inside.channel)
    return message if message.word == "start" else None


def _wake_on_children() -> int:
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return read


def _spawn(
    inside: Inside, shown: tuple[str, ...], terminal: int | None, covers: Covers, without: Unshimmed | None
) -> tuple[int, Refusals | None] | None:
    """Start the agent; None, and the supervisor told why, if it could not be executed.

    The supervisor gets the watch over the covers too: with the last descriptor of it in this process, its end
    would take as long as `launcher.beside` says, and all would wait for it.
    """
    read, write = socket.socketpair()
    architecture, plan = seccomp.architecture(), inside.plan
    agent = Agent(
        plan=plan,
        view=inside.view,
        shown=shown,
        inherited=inside.inherited,
        filter=seccomp.program(
            architecture,
            nested=plan.nested,
            draws=bool(plan.seed) and not plan.nested,
            processors=plan.processors is not None and not plan.nested,
            starts=without is not None,
            clock=without is not None and without.clock is not None,
        ),
        unheard=seccomp.program(architecture, nested=plan.nested),
        terminal=terminal,
        status=write.fileno(),
    )
    child = os.fork()
    if child == 0:
        # It needs no PR_SET_PDEATHSIG: the kernel ends it with process 1, and it would outlive exec.
        signal.set_wakeup_fd(-1)
        become(agent)
    write.close()
    with read:
        report, listener = read_status(read)
    if report:
        kind, _, text = report.decode(errors="surrogateescape").partition("\0")
        wire.send(inside.channel, "failed", kind, text)
        return None
    wire.send(inside.channel, "started", descriptors=(covers.fileno(),))
    if listener is None and without is not None:
        wire.send(inside.channel, "unheard")
    draws = Draws(plan.seed, open_page()) if without is None else without.draws
    return child, None if listener is None else Refusals(listener, draws, Answers(plan.processors), without)


def _ceilings(inside: Inside) -> ceilings.Ceilings:
    scratch = [layer.path for layer in inside.view.layers if layer.kind is Kind.SCRATCH]
    return ceilings.Ceilings(inside.plan.limits, [*scratch, "/dev/shm"])  # noqa: S108  (the agent's own)


def _watch(
    inside: Inside,
    agent: int,
    wake: int,
    limits: ceilings.Ceilings,
    heard: Heard,
) -> None:
    refusals, covers = heard.refusals, heard.covers
    watch = Watch(channel=inside.channel, agent=agent, wait_for_all=inside.plan.wait_for_all)
    poll = select.poll()
    if refusals is not None:
        poll.register(refusals, select.POLLIN)
    for source in (inside.channel.fileno(), inside.life, wake, covers.fileno()):
        poll.register(source, select.POLLIN)
    while True:
        ready = dict(poll.poll(limits.pause_ms))
        if inside.life in ready:
            return
        if _passed(inside.channel, limits.due(time.monotonic())):
            return
        if covers.fileno() in ready:
            for path in covers.restore():
                wire.send(inside.channel, "replaced", path)
        if refusals is not None and refusals.fileno() in ready:
            _tell_of_refusal(inside.channel, poll, refusals, ready[refusals.fileno()])
        if wake in ready:
            os.read(wake, 4096)
            watch.reap()
        if inside.channel.fileno() in ready and not watch.obey(wire.receive(inside.channel)):
            return
        if watch.end is not None and _passed(inside.channel, limits.last_look()):
            return  # it may have ended because of it
        if watch.over():
            return


def _passed(channel: socket.socket, limit: str | None) -> bool:
    """Tell the supervisor which limit was passed; everything ends with this process."""
    if limit is not None:
        wire.send(channel, "limit", limit)
    return limit is not None


def _tell_of_refusal(channel: socket.socket, poll: select.poll, refusals: Refusals, event: int) -> None:
    if not event & select.POLLIN:
        poll.unregister(refusals)  # nobody is left under the filter
        return
    told = refusals.answer()
    if told is not None:
        wire.send(channel, *told)
