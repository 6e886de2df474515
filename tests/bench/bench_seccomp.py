"""What the system call filter costs: at the start once, and for each call by what the filter does with it.

    python -m tests.bench.bench_seccomp

Per call: the difference between the medians of processes under the filter and without it, in nanoseconds,
and how many instructions the filter has for that call. The kernel keeps a bitmap of calls that are allowed
whatever their arguments are, and runs no filter for them (Linux 5.11 and later): so the list is not searched
by halves, and judged calls come first. A refused call can be cheaper than the call itself.
"""

import ctypes
import os
import statistics
import time
from collections.abc import Callable

from launcher import kernel, seccomp
from launcher.numbers import NUMBERS

ROUNDS = 15
CALLS = 20_000
_libc = ctypes.CDLL(None)


def _call(name: str, *args: int) -> Callable[[], object]:
    number = (
        NUMBERS[name][seccomp.architecture()] if name in NUMBERS else DENIED[name][seccomp.architecture()]
    )
    wide = [ctypes.c_long(value) for value in (number, *args)]
    return lambda: _libc.syscall(*wide)


DENIED = {"keyctl": (250, 219)}
CASES = {
    "allowed (getppid)": ("getppid", ()),
    "judged first (openat of nothing)": ("openat", (-1, 0, 0)),
    "judged last (unshare of nothing)": ("unshare", (0,)),
    "judged, refused (socket of AF_VSOCK)": ("socket", (40, 1, 0)),
    "missing (clone3)": ("clone3", (0, 0)),
    "in no table (keyctl)": ("keyctl", (0, -3, 0)),
}


def _time(call: Callable[[], object]) -> float:
    started = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - started) / CALLS


def measure(*, filtered: bool) -> list[float]:
    """Nanoseconds for each case, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        if filtered:
            kernel.no_new_privileges()
            seccomp.install(seccomp.program(seccomp.architecture()))
        os.write(write, " ".join(str(_time(_call(name, *args))) for name, args in CASES.values()).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        times = [float(word) for word in file.read().split()]
    os.waitpid(child, 0)
    return times


def steps(block: seccomp.Block, number: int, args: tuple[int, ...]) -> int:
    """Instructions executed for one call."""
    loads = {0: number, 4: seccomp._AUDIT_ARCH[seccomp.architecture()]}
    loads |= {16 + 8 * index: value & 0xFFFFFFFF for index, value in enumerate((*args, 0, 0, 0)[:6])}
    position = done = value = 0
    while True:
        code, yes, no, operand = block[position]
        position, done = position + 1, done + 1
        match code:
            case 0x20:
                value = loads[operand]
            case 0x54:
                value &= operand
            case 0x06:
                return done
            case _:
                holds = {0x15: value == operand, 0x25: value > operand, 0x35: value >= operand}
                position += yes if holds.get(code, bool(value & operand)) else no


def start_cost() -> tuple[float, float]:
    """Microseconds to compute the filter and to install it."""
    built, installed = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        block = seccomp.program(seccomp.architecture())
        built.append(time.perf_counter() - started)
        read, write = os.pipe()
        if os.fork() == 0:
            kernel.no_new_privileges()
            started = time.perf_counter()
            seccomp.install(block)
            os.write(write, str(time.perf_counter() - started).encode())
            os._exit(0)
        os.close(write)
        with open(read, "rb") as file:
            installed.append(float(file.read()))
        os.wait()
    return statistics.median(built) * 1e6, statistics.median(installed) * 1e6


def main() -> None:
    """Print one row a case."""
    block = seccomp.program(seccomp.architecture())
    built, installed = start_cost()
    print(f"{len(block)} instructions; computed in {built:.0f} us, installed in {installed:.0f} us")
    bare = [measure(filtered=False) for _ in range(ROUNDS)]
    under = [measure(filtered=True) for _ in range(ROUNDS)]
    for index, (title, (name, args)) in enumerate(CASES.items()):
        cost = statistics.median(row[index] for row in under) - statistics.median(row[index] for row in bare)
        number = (NUMBERS | DENIED)[name][seccomp.architecture()]
        print(f"{title:<40} {cost:7.0f} ns more, {steps(block, number, args):4} instructions")


if __name__ == "__main__":
    main()
