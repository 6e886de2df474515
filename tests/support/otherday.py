"""Another time of day for one program and what it starts, as if the machine's clock had been set.

A small library is loaded into them and moves the wall clock in each of libc's ways of asking; other clocks
stay. A program that makes its own system calls sees the machine's.
"""

import subprocess
from pathlib import Path
from typing import Final

SOURCE: Final = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, clock, at);
    const char *moved = getenv("MOVED_S");
    if (!failed && moved && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += atol(moved);
    return failed;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) { at->tv_sec = now.tv_sec; at->tv_usec = now.tv_nsec / 1000; }
    return 0;
}
"""


def moved(folder: Path, seconds: int) -> dict[str, str]:
    """The environment that moves it by so much; the library is built in `folder`, which all may read."""
    built = folder / "otherday.so"
    if not built.exists():
        argv = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", built]
        subprocess.run(argv, input=SOURCE, text=True, check=True)
        built.chmod(0o755)
    return {"LD_PRELOAD": str(built), "MOVED_S": str(seconds)}
