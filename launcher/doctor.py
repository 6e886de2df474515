"""Whether this host can confine an agent: each means is tried in a child, the way the launcher uses it.

A finding is `ok` only if the probe ran and succeeded, `missing` only if the kernel refused, and `unknown` if
the probe itself could not run: what was not observed is not counted as safe. Nothing is left behind.
"""

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hark.errors import ConfinementError, HarkError
from launcher.advice import NO_PROC, explain, kernel_advice, profile
from launcher.identity import agent_identity, check_known
from launcher.least import check_limits

_REPORT_BYTES: Final = 1 << 12
_LEAST_FREE: Final = 2 << 20  # bytes; what no record gets by with
_PROBE_SECONDS: Final = 10


class State(Enum):
    """What a probe found."""

    OK = "ok"
    LESS = "less"
    """A run works without it, and does less; said by what does it (`hark.repeatable`)."""
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One means of confinement."""

    name: str
    state: State
    words: str
    """One sentence; for `missing` it names the setting to change."""
    fix: str = ""
    """What a shell would run, where that is more than a sentence can hold."""


type Probe = Callable[[], str]
"""MUST raise OSError if the kernel refuses; returns what to say if it does not."""


class _NotTried(Exception):  # noqa: N818  (no error: what the probe needs is another probe's finding)
    """Why a probe did not come to what it is about."""


def _enter() -> None:
    from launcher import kernel
    from launcher.userspace import enter_user_namespace

    identity = agent_identity(os.getuid(), os.getgid(), os.environ)
    check_known(identity)
    enter_user_namespace(identity)
    # Where a security module lets the namespace be made but takes its capabilities away, this one fails.
    kernel.unshare(os.CLONE_NEWUTS, "use its capabilities")


def _enter_for_more() -> None:
    try:
        _enter()
    except (OSError, ConfinementError) as error:
        raise _NotTried("not tried, since it needs a user namespace") from error


def _machine() -> str:
    from launcher import seccomp

    system = os.uname()
    seccomp.architecture()
    if "Microsoft" in system.release:
        raise ConfinementError(kernel_advice(system.release))
    # Every process of hark's reads these, and so does the interpreter.
    for path in ("/proc/self/ns/net", "/proc/self/task"):
        try:
            os.stat(path)
        except OSError as error:
            raise ConfinementError(NO_PROC) from error
    return f"Linux {system.release} on {system.machine}"


def _limits() -> str:
    check_limits()
    return "files, processes and file sizes are not limited too low"


def _place() -> str:
    from hark.bundle.store import runs_directory

    place = _writable(runs_directory(os.environ), "bundles cannot be written to", "XDG_STATE_HOME")
    _signable()
    status = os.statvfs(place)
    free = status.f_bavail * status.f_frsize
    if free < _LEAST_FREE:
        raise ConfinementError(
            f"there are {free >> 20} MiB free at {place} and a record needs {_LEAST_FREE >> 20}: make room, "
            "or name another disk in XDG_STATE_HOME"
        )
    return f"bundles can be written to {place}"


def _writable(place: str, otherwise: str, variable: str) -> str:
    """Return the part of a directory's path that is there, and in which the rest can be made."""
    while not os.path.lexists(place) and place != "/":
        place = os.path.dirname(place)
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):
        raise ConfinementError(f"{otherwise} {place}: name a directory of yours in {variable}")
    return place


def _signable() -> None:
    """Refuse a key that a run could not sign with. Where there is none, a run makes one."""
    from hark.keys import load_private, user_key_path

    path = user_key_path(os.environ)
    if os.path.lexists(path):
        load_private(path)
    else:
        _writable(os.path.dirname(path), "hark's signing key cannot be made in", "XDG_CONFIG_HOME")


def _user_namespace() -> str:
    _enter()
    return "user namespaces can be created and used"


def _landlock() -> str:
    from launcher import landlock

    abi = landlock.abi()
    scopes = (
        "with scopes" if abi >= landlock.SCOPES_ABI else "without scopes, which other namespaces stand in for"
    )
    return f"Landlock ABI {abi}, {scopes}"


def _seccomp() -> str:
    from launcher import kernel, seccomp

    program = seccomp.program(seccomp.architecture())
    kernel.no_new_privileges()
    seccomp.install(program, listen=True)
    return "system call filters can be installed"


def _network() -> str:
    from launcher import network

    _enter_for_more()
    _sockets, unset = network.build(os.getgid())
    return "veth, nftables redirect and reject work" + (
        f"; not settable: {', '.join(unset)}" if unset else ""
    )


def _mounts() -> str:
    from launcher import kernel, mounts, trees

    os.chdir("/")
    if agent_identity(os.getuid(), os.getgid(), os.environ).changed:
        kernel.open_tree("/proc")  # root's are copied before it enters the user namespace
    _enter_for_more()
    namespaces = os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC | os.CLONE_NEWCGROUP
    kernel.unshare(namespaces, "make mount and process namespaces")
    mounts.leave_host_propagation()
    trees.open_devices()
    child = os.fork()
    if child == 0:
        error = 0
        try:
            kernel.mount("proc", "./proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        except OSError as failure:
            error = failure.errno or 1
        os._exit(error)
    error = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if error:
        raise OSError(error, os.strerror(error), "mount proc on ./proc")
    return "detached mounts, devices and an own /proc can be mounted"


_PROBES: Final[tuple[tuple[str, str, Probe], ...]] = (
    ("machine", "machine", _machine),
    ("limits", "process", _limits),
    ("record", "record", _place),
    ("user namespaces", "user namespace", _user_namespace),
    ("Landlock", "landlock", _landlock),
    ("seccomp", "seccomp", _seccomp),
    ("network", "network", _network),
    ("mounts", "mounts", _mounts),
)


def _observe(name: str, step: str, probe: Probe) -> Finding:
    try:
        read, write = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
    except OSError as error:
        return Finding(name, State.UNKNOWN, f"not tried: {explain('process', error)}")
    if child == 0:
        try:
            _report(write, step, probe)
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        state, _, rest = file.read(_REPORT_BYTES).decode(errors="replace").partition("\0")
    os.waitpid(child, 0)
    if not state:
        return Finding(name, State.UNKNOWN, "the probe ended without an answer")
    words, _, fix = rest.partition("\0")
    return Finding(name, State(state), words, fix)


def _report(write: int, step: str, probe: Probe) -> None:
    signal.alarm(_PROBE_SECONDS)  # a probe that hangs is ended, and its state is unknown
    fix = ""
    try:
        state, words = State.OK, probe()
    except OSError as error:
        state, words = State.MISSING, explain(step, error)
        fix = profile() if step == "user namespace" else ""
    except HarkError as error:
        state, words = State.MISSING, str(error)
    except _NotTried as error:
        state, words = State.UNKNOWN, str(error)
    except BaseException as error:  # noqa: BLE001  (the probe is broken, the host may be fine)
        state, words = State.UNKNOWN, f"the probe failed: {type(error).__name__}: {error}"
    with contextlib.suppress(OSError):
        os.write(write, f"{state.value}\0{words}\0{fix}".encode())


def check() -> tuple[Finding, ...]:
    """Probe every means of confinement. Takes tens of milliseconds; call it while single-threaded."""
    return tuple(_observe(*probe) for probe in _PROBES)
