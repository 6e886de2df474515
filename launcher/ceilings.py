"""The policy's limits on the agent's processes, memory and private files: the kernel's part, and process 1's.

Always: what the kernel holds is in force before the agent's program is executed, and a hard limit, which no
process without the host's CAP_SYS_RESOURCE can raise. The kernel by itself would only make a call fail; so
process 1 looks `LOOKS_A_SECOND` times a second, and where a limit is passed it says so and ends, and
everything inside with it. Between two looks the kernel's part alone holds.

Needs no cgroup, so it is the same on every host: control groups are seldom delegated to an ordinary user
outside systemd's sessions, and not at all in most containers.
"""

import os
import resource
from collections.abc import Callable, Collection, Iterable
from typing import Final

from hark.policy.model import Limits
from launcher.aside import BYTES_A_FILE, Aside, held
from launcher.buffers import Buffers

LOOKS_A_SECOND: Final = 20
SUPERVISOR_S: Final = 10.0
"""When `time` is up, the supervisor asks the agent to end and kills it 5 s later, if it is not stopped."""
OURS: Final = 2
"""Processes in the run's user namespace that are not the agent's: process 1 and the one that waits for it.

With published ports there is one more, `launcher.doorway`.
"""
_SLACK: Final = 1  # the kernel lets one more begin than is allowed, so that it can be seen
_MIN_SPARE: Final = 1 << 30
"""What a process may have writable beyond the limit, or as much again. Most of that is never touched (thread
stacks, the heaps of language runtimes), what is touched is counted; and a program that grows fast is seen at
the limit, in words, before its allocations fail without any."""
_MIN_FILES: Final = 4096
_BYTES_A_SEMAPHORE: Final = 64  # struct sem, which has a cache line of its own
_BYTES_A_SET: Final = 512
_BYTES_A_MESSAGE: Final = 64
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

type Measure = Callable[[str], int]
"""Takes the name of a process in /proc. MUST raise FileNotFoundError or ProcessLookupError if it is gone."""


def impose(limits: Limits, *, doorway: bool = False) -> None:
    """Put the calling process, and all it starts, under what the kernel can hold."""
    if limits.processes is not None:
        # Counted in the run's own user namespace since Linux 5.14: the caller's other processes are not.
        _lower(resource.RLIMIT_NPROC, OURS + doorway + limits.processes + _SLACK)
    if limits.memory is not None:
        _lower(resource.RLIMIT_DATA, _writable(limits.memory))
    if limits.disk is not None:
        _lower(resource.RLIMIT_FSIZE, limits.disk)


def _writable(memory: int) -> int:
    return memory + max(memory, _MIN_SPARE)


def _lower(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(what, (value, value))


def scratch_options(limits: Limits) -> str:
    """Mount options for each private tmpfs, with a comma in front."""
    size = "" if limits.disk is None else f",size={limits.disk}"
    least = min((one for one in (limits.disk, limits.memory) if one is not None), default=None)
    return size if least is None else f"{size},nr_inodes={max(_MIN_FILES, least // BYTES_A_FILE)}"


def in_force(limits: Limits) -> tuple[str, ...]:
    """What holds each limit, in words, for the record."""
    data = _writable(limits.memory or 0)
    looked = f"counted {LOOKS_A_SECOND} times a second"
    said = (
        (
            limits.processes,
            "limits.processes {}: RLIMIT_NPROC in the run's user namespace, threads included, ",
        ),
        (
            limits.memory,
            f"limits.memory {{}} bytes: RLIMIT_DATA at {data} for each process; all and sockets together, ",
        ),
        (
            limits.disk,
            "limits.disk {} bytes: the size of each private tmpfs, and RLIMIT_FSIZE; all together, ",
        ),
    )
    return tuple(words.format(value) + looked for value, words in said if value is not None)


class Ceilings:
    """What process 1 looks at. `scratch` are the private file systems' paths."""

    def __init__(self, limits: Limits, scratch: Iterable[str]) -> None:
        self._limits = limits
        self._scratch = tuple(scratch)
        self._aside = Aside()
        self._buffers = Buffers()
        watched = (limits.processes, limits.memory, limits.disk)
        self.pause_ms = 1000 // LOOKS_A_SECOND if any(limit is not None for limit in watched) else None
        """How long process 1 may wait between two looks; None: there is nothing to look at."""
        if self.pause_ms is None and limits.time_s is not None:
            self.pause_ms = 1000
        self._next = 0.0
        self._last: float | None = None

    def due(self, now: float) -> str | None:
        """Look, if it is time again; `now` is monotonic seconds."""
        if self.pause_ms is None or now < self._next:
            return None
        self._next = now + self.pause_ms / 1000
        return self._time(now) or self.look()

    def _time(self, now: float) -> str | None:
        limit = self._limits.time_s
        if limit is None:
            return None
        if self._last is None:
            self._last = now + limit + SUPERVISOR_S
        if now < self._last:
            return None
        return f"limits.time was reached: the agent ran for {limit:g} seconds"

    def look(self) -> str | None:
        """Return a sentence that says which limit was passed."""
        return self._processes() or self._memory() or self._disk()

    def last_look(self) -> str | None:
        """The same when the agent has just ended, perhaps because of a limit: what it left is still there."""
        return self._processes(ended=1) or self._disk()

    def _disk(self) -> str | None:
        limit = self._limits.disk
        if limit is None:
            return None
        private = _private(self._scratch)
        used = sum((found.f_blocks - found.f_bfree) * found.f_frsize for found in private)
        if used < limit and all(found.f_ffree for found in private):
            return None
        return f"limits.disk was reached: the agent's private files take {used} bytes of {limit}"

    def _processes(self, ended: int = 0) -> str | None:
        limit = self._limits.processes
        if limit is None:
            return None
        tasks = sum(_each(_tasks)) + ended
        if tasks <= limit:
            return None
        return f"limits.processes was reached: {tasks} processes and threads, and {limit} are allowed"

    def _memory(self) -> str | None:
        limit = self._limits.memory
        if limit is None:
            return None
        files = sum(map(held, _private(self._scratch)))
        files += _system_v()
        files += self._aside.look()
        files += self._buffers.look()
        # Cheap and never too little: pages that several processes share are counted for each of them.
        if files + sum(_each(_resident)) <= limit:
            return None
        used = files + sum(_each(_proportional))
        if used <= limit:
            return None
        return f"limits.memory was reached: the agent uses {used} bytes of {limit}"


def _each(measure: Measure) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            try:
                found.append(measure(name))
            except (FileNotFoundError, ProcessLookupError):  # it has ended
                continue
    return found


def _tasks(pid: str) -> int:
    return os.stat(f"/proc/{pid}/task").st_nlink - 2  # one link for each thread, as of a directory


def _resident(pid: str) -> int:
    return int(_read(f"/proc/{_with_memory(pid)}/statm").split()[1]) * _PAGE


def _with_memory(pid: str) -> str:
    """Name a thread that still has the process's memory: the first one may have ended before the others."""
    if not _read(f"/proc/{pid}/statm").startswith(b"0 "):
        return pid
    threads = os.listdir(f"/proc/{pid}/task")
    return next((one for one in threads if not _read(f"/proc/{one}/statm").startswith(b"0 ")), pid)


def _proportional(pid: str) -> int:
    """Memory that only the end of the process gives back, shared pages by their share.

    Where we may not look, all that is resident: what hides counts for more.
    """
    try:
        lines = _read(f"/proc/{_with_memory(pid)}/smaps_rollup").splitlines()
    except PermissionError:
        return _resident(pid)
    wanted = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(wanted))


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _system_v() -> int:
    """Bytes in System V shared memory, semaphores and messages, which last without any process.

    Shared memory that a process has mapped counts twice: it can have a segment mapped that is not resident.
    """
    shared = (int(number) for line in _listed("shm") for number in line.split()[-2:])  # resident, swapped
    semaphores = (_BYTES_A_SET + _BYTES_A_SEMAPHORE * int(line.split()[3]) for line in _listed("sem"))
    messages = (_messages(*map(int, line.split()[3:5])) for line in _listed("msg"))
    return sum(shared) + sum(semaphores) + sum(messages)


def _messages(size: int, number: int) -> int:
    return _BYTES_A_SET + size + number * _BYTES_A_MESSAGE


def _listed(what: str) -> list[bytes]:
    try:
        return _read(f"/proc/sysvipc/{what}").splitlines()[1:]
    except FileNotFoundError:
        return []  # a kernel without it


def _private(scratch: Iterable[str]) -> Collection[os.statvfs_result]:
    """What the private file systems hold, each once."""
    return {os.stat(path).st_dev: os.statvfs(path) for path in scratch}.values()
