"""The fork that begins a boundary, and the streams that its agent is given.

`launch` forks at once and returns a handle on what the child builds meanwhile. Importing this module is
cheap; netlink, Landlock and mounts are imported by the child.
"""

import contextlib
import os
import socket
from typing import TYPE_CHECKING

from hark.errors import ConfinementError
from launcher import ahead, intake, wire
from launcher.advice import NO_PROC, explain
from launcher.caller import inherited, settle_streams
from launcher.identity import Identity, agent_identity, check_known
from launcher.intake import Intake
from launcher.least import check_limits
from launcher.outlet import Outlet
from launcher.plan import Plan
from launcher.played import Played
from launcher.streams import empty_input_in_background, write_only_terminals
from launcher.supervise import Boundary, Streams

if TYPE_CHECKING:
    from launcher.guard import Guard


def launch(plan: Plan, played: Played | None = None) -> Boundary:
    """Begin to build the boundary that `plan` describes; with `played`, the agent's streams are as recorded.

    MUST be called while the process has one thread (it forks), and before heavy imports (it copies them).
    Mistakes of the host surface as ConfinementError from the first use of the result.
    """
    if _threads() != 1:
        raise RuntimeError("launch() forks: call it before the first thread is started")
    check_limits()
    settle_streams()
    if played is not None:
        plan = played.applied(plan)
    elif not plan.terminal:
        write_only_terminals()
        empty_input_in_background()
    identity = agent_identity(os.getuid(), os.getgid(), os.environ, plan.seen_as)
    check_known(identity)
    handed_down = plan.inherits or inherited()
    supervisor = os.getpid()
    taken, outlet = _take_streams(plan, identity, played)
    made = ahead.take(identity)
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        child = os.fork()
    except OSError as error:
        taken.close()
        outlet.close()
        if made is not None:
            made.end()
        raise ConfinementError(explain("process", error)) from error
    if child == 0:
        try:
            ours.close()
            taken.enter()
            outlet.enter()
            from launcher import build

            handed_over = None if made is None else made.channel
            build.run(plan, identity, handed_down, theirs, supervisor, ahead=handed_over)
        except BaseException as error:  # noqa: BLE001  (the caller's code must not go on in the child)
            with contextlib.suppress(OSError):
                wire.send(theirs, "failed", wire.CONFINEMENT, f"the launcher cannot run: {error}")
        finally:
            os._exit(1)
    theirs.close()
    taken.leave()
    guarded = _guarded() if plan.terminal and played is None else None
    outlet.leave()
    if made is not None:
        made.channel.close()
    streams = Streams(taken, played, outlet)
    return Boundary(plan, identity, child, ours, terminal=guarded, streams=streams, made=made)


def _take_streams(plan: Plan, identity: Identity, played: Played | None) -> tuple[Intake, Outlet]:
    """Take over input that is recorded or played, and output that the agent must not hold itself.

    Raises ConfinementError.
    """
    owner = (identity.uid, identity.gid) if identity.changed else None
    terminals = None if played is None else played.terminals
    try:
        to_the_end = played is not None and played.to_the_end
        outlet = Outlet.settle(terminals, owner, plan.limits.disk, to_the_end=to_the_end)
        if played is not None:
            return played.settle(owner), outlet
        return intake.settle(owner, recorded=plan.record_input), outlet
    except OSError as error:
        raise ConfinementError(f"the standard streams cannot be taken over: {error.strerror}") from error


def _guarded() -> "Guard | None":
    """The process that gives the terminal back; it brings ctypes, which a run without one is spared."""
    from launcher import guard

    return guard.post(0)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError as error:
        raise ConfinementError(NO_PROC) from error
