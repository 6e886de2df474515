"""File systems in memory that a nested agent mounts in a namespace of its own, found in /proc by process 1.

Always: one walk over all threads is spread over many looks of `BUDGET_S` each, so that however many there are
keep process 1 from nothing else; what is said is what the last whole walk found. A thread counts for itself,
since it may have mounts of its own. What this process sees itself is not counted here.

Not seen: one that is mounted nowhere any more, or only in a namespace without a thread, or under another.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Final

BUDGET_S: Final = 0.002
"""Of each look, so some hundredths of one processor at twenty looks a second."""
BYTES_A_FILE: Final = 1024
"""What a tmpfs takes of the kernel's memory for an empty file, about, and what it counts as another file of
extended attributes (since Linux 6.6, when it got those that everybody may set)."""
_OCTAL: Final = re.compile(r"\\([0-7]{3})")  # blanks and backslashes in /proc/PID/mountinfo
_KINDS: Final = ("tmpfs", "ramfs")


class Aside:
    """One walk after the other. `clock` returns monotonic seconds, `proc` is where procfs is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, proc: str = "/proc") -> None:
        self._clock = clock
        self._proc = proc
        self._found: dict[int, int] = {}
        self._walk = self._walked()

    def look(self) -> int:
        """Go on for a moment; return how many bytes the last whole walk found."""
        until = self._clock() + BUDGET_S
        for whole in self._walk:
            if whole or self._clock() >= until:
                break
        return sum(self._found.values())

    def _walked(self) -> Iterator[bool]:
        """Yield after each thread, and True after each whole walk."""
        while True:
            found: dict[int, int] = {}
            own = {device for device, _ in _in_memory(f"{self._proc}/self")}
            known = {_namespace(f"{self._proc}/self"), None}
            for thread in self._threads():
                if (namespace := _namespace(thread)) not in known:
                    known.add(namespace)
                    for device, path in _in_memory(thread):
                        if device not in own:
                            found |= _used(device, f"{thread}/root{path}")
                yield False
            self._found = found
            yield True

    def _threads(self) -> Iterator[str]:
        for pid in filter(str.isdigit, os.listdir(self._proc)):
            try:
                threads = os.listdir(f"{self._proc}/{pid}/task")
            except OSError:  # it has ended
                continue
            yield from (f"{self._proc}/{pid}/task/{name}" for name in threads)


def _namespace(thread: str) -> int | None:
    try:
        return os.stat(f"{thread}/ns/mnt").st_ino
    except OSError:  # it has ended
        return None


def _in_memory(thread: str) -> list[tuple[int, str]]:
    """List the file systems in memory that a thread has mounted: device and path, laid out as in proc(5)."""
    try:
        with open(f"{thread}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split(" ") for line in file]
    except OSError:  # it has ended
        return []
    return [
        (_device(words[2]), _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), words[4]))
        for words in lines
        if words[words.index("-") + 1] in _KINDS
    ]


def _device(text: str) -> int:
    major, _, minor = text.partition(":")
    return os.makedev(int(major), int(minor))


def _used(device: int, path: str) -> dict[int, int]:
    try:
        found = os.statvfs(path)
        if os.stat(path).st_dev != device:  # another one lies over it
            return {}
    except OSError:  # it is gone
        return {}
    return {device: held(found)}


def held(found: os.statvfs_result) -> int:
    """Return how many bytes of the kernel's memory a tmpfs takes, its empty files and attributes included."""
    return (found.f_blocks - found.f_bfree) * found.f_frsize + (found.f_files - found.f_ffree) * BYTES_A_FILE
