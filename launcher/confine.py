"""The last steps in the agent's own process, in the one order that works, ending in exec.

    1  own process group, in the terminal's foreground if there is one
    2  standard streams; every other descriptor closed
    3  signals as the caller had them, no core dumps
    4  capabilities dropped for good, NO_NEW_PRIVS
    5  Landlock, after the last mount
    6  no address randomisation, where a run is to be repeated
    7  the policy's limits
    8  seccomp, last: it forbids some of what came before
    9  exec

No step is optional and none is skipped: one that fails is reported through the status pair and the process
ends. It closes by itself when exec succeeds.
"""

import errno
import os
import resource
import signal
from dataclasses import dataclass
from typing import Final, NoReturn

from hark.shebang import SHEBANG_BYTES, shebang
from launcher import ceilings, kernel, landlock, refusals, seccomp, wire
from launcher.advice import explain
from launcher.caller import Inherited
from launcher.least import of_dumps
from launcher.plan import Plan
from launcher.view import View

_SHELL: Final = "/bin/sh"
_NOT_FOUND: Final = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class Agent:
    """Everything that the agent's process needs to confine itself and start."""

    plan: Plan
    view: View
    shown: tuple[str, ...]
    inherited: Inherited
    filter: seccomp.Block
    unheard: seccomp.Block
    """The filter where something above us listens already."""
    terminal: int | None
    status: int
    """The end of the status pair that is written to, close-on-exec."""


def become(agent: Agent) -> NoReturn:
    """Turn the calling process, a fresh child of pid 1, into the agent."""
    step = "confine the agent"
    try:
        _own_group(agent.terminal)
        _standard_streams(agent.terminal, agent.plan.on_terminal)
        _close_all_but(agent.status)
        _reset_signals(agent.inherited)
        resource.setrlimit(resource.RLIMIT_CORE, (of_dumps(), of_dumps()))
        kernel.drop_capabilities()
        kernel.no_new_privileges()
        step = "apply Landlock"
        landlock.restrict(
            agent.view, list(agent.shown), nested=agent.plan.nested, executables=agent.plan.executables
        )
        if agent.plan.fixed_addresses:
            step = "fix the layout of addresses"
            kernel.no_address_randomisation()
        step = "set the policy's limits"
        ceilings.impose(agent.plan.limits, doorway=bool(agent.plan.published))
        step = "seccomp"
        listener = seccomp.install(agent.filter, listen=not agent.plan.nested, unheard=agent.unheard)
        if listener is not None:
            refusals.hand_over(agent.status, listener)
    except BaseException as error:  # noqa: BLE001  (whatever it is: this process must not go on)
        why = f"cannot {step}: {error}"
        if step == "seccomp" and isinstance(error, OSError):
            why = explain(step, error)
        _report(agent.status, wire.CONFINEMENT, why)
    _execute(agent)


def _own_group(terminal: int | None) -> None:
    os.setpgid(0, 0)
    if terminal is None:
        return
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # we are not in the foreground until this has worked
    os.tcsetpgrp(terminal, os.getpid())


def _standard_streams(terminal: int | None, chosen: tuple[int, ...] | None) -> None:
    if terminal is None:
        return
    for descriptor in range(3):
        # A stream that is redirected stays redirected, as it would in a shell.
        if os.isatty(descriptor) if chosen is None else descriptor in chosen:
            os.dup2(terminal, descriptor, inheritable=True)


def _close_all_but(kept: int) -> None:
    kernel.close_range(3, kept - 1)
    kernel.close_range(kept + 1)


def _reset_signals(inherited: Inherited) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in inherited.ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    os.umask(inherited.umask)


def _execute(agent: Agent) -> NoReturn:
    plan = agent.plan
    try:
        try:
            os.execve(plan.executable, plan.argv, plan.env)  # noqa: S606  (that is the product)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # As execvp: a script without a first line that names its interpreter is the shell's.
            os.execve(_SHELL, (_SHELL, plan.executable, *plan.argv[1:]), plan.env)  # noqa: S606
    except OSError as error:
        kind = wire.NOT_FOUND if error.errno in _NOT_FOUND else wire.NOT_EXECUTABLE
        _report(agent.status, kind, f"{plan.argv[0]}: {_explain(plan.executable, error)}")
    except ValueError as error:
        _report(agent.status, wire.NOT_EXECUTABLE, f"{plan.argv[0]}: {error}")


def _explain(executable: str, error: OSError) -> str:
    reason = os.strerror(error.errno or 0).lower()
    if error.errno != errno.ENOENT:
        return reason
    if not os.path.lexists(executable):
        return f"{reason} (no {executable} inside the boundary; grant its folder with -read)"
    interpreter = _interpreter(executable)
    if interpreter:
        return f"{reason} (its interpreter {interpreter} is not inside the boundary; grant it with -read)"
    return f"{reason} (what it needs to be loaded is not inside the boundary; grant it with -read)"


def _interpreter(executable: str) -> str:
    try:
        with open(executable, "rb") as file:
            words = shebang(file.read(SHEBANG_BYTES))
    except OSError:
        return ""
    return words[0] if words else ""


def _report(status: int, kind: str, text: str) -> NoReturn:
    os.write(status, f"{kind}\0{text}".encode(errors="surrogateescape"))
    os._exit(wire.NEVER_EXECUTED)
