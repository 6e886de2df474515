"""How many processors an agent is told of, where this machine has others: pools take their size from it.

Two counts matter, and a replay shows both as they were recorded: of the processors that the agent may use
(sched_getaffinity: nproc, Go, Java, libuv, os.process_cpu_count) and of those that are online (sysconf,
os.cpu_count, os.cpus). The first is an answer of process 1's to whoever asks, until a thread has chosen its
processors itself; the second stands in files of the kernel's, which lie under others then. What runs when
is the kernel's affair as before: nobody gets more of the machine by it.

Not shown: `/sys/devices/system/cpu/cpuN`, and what the processor says of itself (CPUID).
"""

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

MOST: Final = 4096
"""Linux's own bound on x86-64 (CONFIG_NR_CPUS)."""
_WORD_BYTES: Final = 8
_FOLDER: Final = "/sys/devices/system/cpu"
_RANGES: Final = ("online", "possible", "present")
_INFO: Final = "/proc/cpuinfo"
_STAT: Final = "/proc/stat"
_NUMBER: Final = re.compile(rb"^(processor\s*:\s*)\d+", re.MULTILINE)
_OF_ONE: Final = re.compile(rb"cpu\d+ ")


class Processors(NamedTuple):
    """Counts of processors."""

    usable: int
    """Those that a program may run on."""
    online: int


def here() -> Processors:
    """Return this machine's, as this thread may use them."""
    return Processors(len(os.sched_getaffinity(0)), os.sysconf("SC_NPROCESSORS_ONLN"))


def is_plausible(counts: Processors) -> bool:
    """Tell whether a machine may have them."""
    return 0 < counts.usable <= MOST and 0 < counts.online <= MOST


def files(online: int, read: Callable[[str], bytes | None]) -> Mapping[str, bytes]:
    """Return what lies over the kernel's files, made of what `read` says that they have; None: not there."""
    shown = {f"{_FOLDER}/{name}": f"0-{online - 1}\n".encode() if online > 1 else b"0\n" for name in _RANGES}
    found = {path: content for path, content in shown.items() if read(path) is not None}
    if (info := read(_INFO)) is not None:
        found[_INFO] = _information(info, online)
    if (stat := read(_STAT)) is not None:
        found[_STAT] = b"".join(_statistics(stat, online))
    return found


def read_file(path: str) -> bytes | None:
    """Return what a file of the kernel's has; None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _information(info: bytes, online: int) -> bytes:
    """As many paragraphs as there are processors, all like the first; what stands behind them is kept."""
    paragraphs = info.split(b"\n\n")
    ours = [part for part in paragraphs if _NUMBER.search(part)]
    if not ours:
        return info
    others = [part for part in paragraphs if not _NUMBER.search(part)]
    made = [_NUMBER.sub(rb"\g<1>%d" % number, ours[0]) for number in range(online)]
    return b"\n\n".join([*made, *others])


def _statistics(stat: bytes, online: int) -> Iterator[bytes]:
    """As many lines as there are processors, each the first one's."""
    told = False
    for line in stat.splitlines(keepends=True):
        if not _OF_ONE.match(line):
            yield line
        elif not told:
            told = True
            _, _, figures = line.partition(b" ")
            yield from (b"cpu%d %b" % (number, figures) for number in range(online))


class Answers:
    """What process 1 says to who asks which processors it may use."""

    def __init__(self, counts: Processors | None) -> None:
        """`counts`: None where nobody is told anything but the truth, and nobody asks here."""
        self._counts = counts
        self._all = os.sched_getaffinity(0)

    def answer(self, memory: int, thread: int, arguments: tuple[int, ...]) -> tuple[int, int]:
        """Value and error of `thread`'s sched_getaffinity(pid, length, address); the memory is its own."""
        process, length, address = arguments[0] & 0xFFFFFFFF, arguments[1] & 0xFFFFFFFF, arguments[2]
        try:
            chosen = os.sched_getaffinity(process or thread)
        except (OSError, OverflowError):
            return 0, -errno.ESRCH
        if self._counts is not None and chosen == self._all:
            chosen = set(range(self._counts.usable))
        data = _mask(chosen)
        if length % _WORD_BYTES or length < len(data):
            return 0, -errno.EINVAL
        try:
            return os.pwrite(memory, data, address), 0
        except (OSError, OverflowError):
            return 0, -errno.EFAULT


def _mask(numbers: set[int]) -> bytes:
    """As the kernel lays it out: bit N of words of 64 bits, the least significant first."""
    bits = sum(1 << number for number in numbers)
    words = max(1, -(-bits.bit_length() // (8 * _WORD_BYTES)))
    return bits.to_bytes(words * _WORD_BYTES, "little")
