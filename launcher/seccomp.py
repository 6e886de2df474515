"""The system call filter: a list of what is allowed, judged by number and arguments, for two architectures.

Always holds: a call of another architecture's ABI kills the process; namespace flags, setuid and setgid
bits, sockets of other families than UNIX, INET, INET6 and route netlink, pairs of any but UNIX, raw
sockets, and ioctls that type into a terminal are refused; whatever is not listed is refused. Setuid bits
matter since root's agent writes files that belong to root on disk. Pointers cannot be judged here, so calls
that hide their flags behind one look as if they did not exist.
"""

import ctypes
import errno
import os
import resource
import socket
import struct
from typing import Final

from hark.errors import ConfinementError
from launcher import kernel
from launcher.numbers import ARM64, NEWEST_KNOWN, NUMBERS, X86_64, Numbers
from launcher.syscalls import ALLOWED, MISSING, NESTED, UNNESTED
from launcher.vdso import SET_FS, WALL_CLOCKS

type Instruction = tuple[int, int, int, int]
type Block = list[Instruction]

_AUDIT_ARCH: Final = {X86_64: 0xC000003E, ARM64: 0xC00000B7}
_MACHINES: Final = {"x86_64": X86_64, "aarch64": ARM64}

_LOAD: Final = 0x20
_AND: Final = 0x54
_JUMP_EQUAL: Final = 0x15
_JUMP_GREATER: Final = 0x25
_JUMP_GREATER_EQUAL: Final = 0x35
_JUMP_BITS: Final = 0x45
_RETURN: Final = 0x06
_NUMBER_OFFSET: Final = 0
_ARCH_OFFSET: Final = 4
_ARGUMENTS_OFFSET: Final = 16  # low words: both architectures are little-endian

_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
_NOTIFY: Final = 0x7FC00000

_NEW_USER: Final = 0x10000000
_NEW_CGROUP: Final = 0x02000000
_NEW_TIME: Final = 0x80  # unshare alone takes it: in clone's flags these bits are a signal
_NAMESPACE_FLAGS: Final = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_SET_ID_BITS: Final = 0o6000
_CREATING: Final = os.O_CREAT | 0o20000000  # __O_TMPFILE without O_DIRECTORY
_TYPING_IOCTLS: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_TYPE_MASK: Final = 0xF  # the rest of a socket's type is SOCK_CLOEXEC and SOCK_NONBLOCK
_INET_PROTOCOLS: Final = (
    0,
    6,
    17,
    1,
    58,
    262,
)  # any, TCP, UDP, ICMP, ICMPv6 (ping), MPTCP (Go listens with it)
_PERSONALITIES: Final = (0, 0x0008, 0x20000, 0x20008, 0x40000, 0xFFFFFFFF)  # Linux, setarch -R, and asking

_SECCOMP: Final = {X86_64: 317, ARM64: 277}
_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 8
_WAIT_KILLABLE: Final = 32


def _give(verdict: int) -> Block:
    return [(_RETURN, 0, 0, verdict)]


def _refuse(number: int = errno.EPERM) -> Block:
    return _give(_ERRNO | number)


def _argument(index: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * index)


def _high(index: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * index + 4)


def _case(value: int, block: Block) -> Block:
    """`block`, which must end in a verdict, if the accumulator is `value`; else go on, accumulator kept."""
    return [(_JUMP_EQUAL, 0, len(block), value), *block]


def _one_of(values: tuple[int, ...], verdict: Block) -> Block:
    return [instruction for value in values for instruction in _case(value, verdict)]


def _without_bits(index: int, bits: int) -> Block:
    """Refuse if argument `index` has any of `bits`, allow otherwise."""
    return [_argument(index), (_JUMP_BITS, 0, 1, bits), *_refuse(), *_give(_ALLOW)]


def _open(flags: int) -> Block:
    """The mode after `flags` counts only where a file is created; elsewhere it is a stale register."""
    return [
        _argument(flags),
        (_JUMP_BITS, 1, 0, _CREATING),
        *_give(_ALLOW),
        *_without_bits(flags + 1, _SET_ID_BITS),
    ]


def _socket() -> Block:
    no_family = _refuse(errno.EAFNOSUPPORT)
    protocol = [_argument(2), *_one_of(_INET_PROTOCOLS, _give(_ALLOW)), *_refuse(errno.EPROTONOSUPPORT)]
    kinds = (int(socket.SOCK_STREAM), int(socket.SOCK_DGRAM))
    inet = [_argument(1), (_AND, 0, 0, _TYPE_MASK), *_one_of(kinds, protocol), *_refuse()]
    # Route netlink is how getifaddrs works (Node, Go, getaddrinfo); without CAP_NET_ADMIN it only reads.
    netlink = [_argument(2), *_case(0, _give(_ALLOW)), *no_family]
    return [
        _argument(0),
        *_case(socket.AF_UNIX, _give(_ALLOW)),
        *_one_of((socket.AF_INET, socket.AF_INET6), inet),
        *_case(socket.AF_NETLINK, netlink),
        *no_family,
    ]


def _socketpair() -> Block:
    """The kernel makes both sockets, and may load their family, before it finds that it has no pairs."""
    return [_argument(0), *_case(socket.AF_UNIX, _give(_ALLOW)), *_refuse(errno.EAFNOSUPPORT)]


def _namespaces(more: int = 0, *, nested: bool) -> Block:
    """Namespace flags in the first argument. Not nested, an attempt to make a user namespace is notified.

    A cgroup namespace is never made: its owner may mount the cgroup tree, in which the supervisor stands too.
    """
    if nested:
        return _without_bits(0, _NEW_CGROUP | more)
    return [
        _argument(0),
        (_JUMP_BITS, 0, 1, _NEW_USER),
        *_give(_NOTIFY),
        *_without_bits(0, _NAMESPACE_FLAGS | more),
    ]


def _clocks(*, starts: bool, clock: bool) -> dict[str, Block]:
    """A program's start, by the call that each makes then, and reads of the wall clock."""
    found: dict[str, Block] = {}
    if starts:
        found["arch_prctl"] = [_argument(0), *_case(SET_FS, _give(_NOTIFY)), *_give(_ALLOW)]
    if clock:
        wall = _one_of(WALL_CLOCKS, _give(_NOTIFY))
        found["clock_gettime"] = [_argument(0), *wall, *_give(_ALLOW)]
        found |= dict.fromkeys(("gettimeofday", "time"), _give(_NOTIFY))
    return found


def _judgements(
    *, nested: bool, draws: bool, processors: bool, starts: bool, clock: bool
) -> dict[str, Block]:
    return {
        **_clocks(starts=starts, clock=clock),
        # Process 1 answers in the kernel's place (launcher.draws, launcher.processors, launcher.unshimmed).
        "getrandom": _give(_NOTIFY if draws else _ALLOW),
        "sched_getaffinity": _give(_NOTIFY if processors else _ALLOW),
        "openat": _open(2),
        "open": _open(1),
        "ioctl": [_argument(1), *_one_of(_TYPING_IOCTLS, _refuse()), *_give(_ALLOW)],
        "clone": _namespaces(nested=nested),
        "unshare": _namespaces(_NEW_TIME, nested=nested),
        "socket": _socket(),
        "socketpair": _socketpair(),
        "personality": [_argument(0), *_one_of(_PERSONALITIES, _give(_ALLOW)), *_refuse()],
        "creat": _without_bits(1, _SET_ID_BITS),
        "chmod": _without_bits(1, _SET_ID_BITS),
        "fchmod": _without_bits(1, _SET_ID_BITS),
        "fchmodat": _without_bits(2, _SET_ID_BITS),
        "fchmodat2": _without_bits(2, _SET_ID_BITS),
        "mkdir": _without_bits(1, _SET_ID_BITS),
        "mkdirat": _without_bits(2, _SET_ID_BITS),
        "mknod": _without_bits(1, _SET_ID_BITS),
        "mknodat": _without_bits(2, _SET_ID_BITS),
        "prlimit64": _prlimit(),
        # A nested agent has every capability that process 1 has, in its own namespace: that is all the kernel
        # asks of whoever gives another process less of the processors. Then nobody holds the limits.
        **dict.fromkeys(
            ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"), _NOT_1
        ),
        "setpriority": _not_process_1(process=0),
        "ioprio_set": _not_process_1(process=1),
        "setrlimit": [_argument(0), *_case(int(resource.RLIMIT_CORE), _refuse(0)), *_give(_ALLOW)],
    }


def _prlimit() -> Block:
    """Process 1 has the agent's uid: a limit on its processor time would end the run in our name.

    The limit on core dumps keeps the host's core_pattern program from being started by the agent
    (`launcher.confine`), so it stays as it is. Most programs lower it to none: they have what they want, and
    are answered as if they had done it. Who asks for the old value in the same call is refused.
    """
    unchanged = [_argument(2), (_JUMP_EQUAL, 0, 3, 0), _high(2), (_JUMP_EQUAL, 0, 1, 0), *_give(_ALLOW)]
    asks = [_argument(3), (_JUMP_EQUAL, 0, 3, 0), _high(3), (_JUMP_EQUAL, 0, 1, 0), *_refuse(0)]
    core = [*unchanged, *asks, *_refuse()]
    limits = [_argument(1), *_case(int(resource.RLIMIT_CORE), core), *_give(_ALLOW)]
    return [_argument(0), *_case(1, _refuse()), *limits]


def _not_process_1(process: int) -> Block:
    """Refuse process 1, its group, and all processes of a user: `which` is from `process` on for these."""
    for_one = [_argument(1), *_case(1, _refuse()), *_give(_ALLOW)]
    return [_argument(0), *_case(process + 2, _refuse()), *for_one]


_NOT_1: Final = [_argument(0), *_case(1, _refuse()), *_give(_ALLOW)]


def _numbers(table: dict[str, Numbers], architecture: int) -> list[int]:
    return sorted(number for row in table.values() if (number := row[architecture]) is not None)


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def program(
    architecture: int,
    *,
    nested: bool = False,
    draws: bool = False,
    processors: bool = False,
    starts: bool = False,
    clock: bool = False,
) -> Block:
    """The filter for one architecture. Judged calls come first: the kernel caches the others' verdicts.

    `draws` notifies of each getrandom, `processors` of each sched_getaffinity, `starts` of each program's
    start, `clock` of each read of the wall clock; they need a listener, so they go with no nesting.
    """
    missing = _refuse(errno.ENOSYS)
    block: Block = [(_LOAD, 0, 0, _ARCH_OFFSET)]
    block += [(_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[architecture]), *_give(_KILL_PROCESS)]
    # x32 calls have bit 30 set, so they are above the newest too.
    block += [(_LOAD, 0, 0, _NUMBER_OFFSET), (_JUMP_GREATER, 0, 1, NEWEST_KNOWN), *missing]
    for name, judgement in _judgements(
        nested=nested, draws=draws, processors=processors, starts=starts, clock=clock
    ).items():
        number = NUMBERS[name][architecture]
        if number is not None:
            block += _case(number, judgement)
    for number in _numbers(MISSING, architecture):
        block += _case(number, missing)
    if nested:
        for number in _numbers(UNNESTED, architecture):
            block += _case(number, _refuse(errno.EOPNOTSUPP))
    allowed = ALLOWED | NESTED if nested else ALLOWED
    for first, last in _ranges(_numbers(allowed, architecture)):
        block += [(_JUMP_GREATER_EQUAL, 0, 2, first), (_JUMP_GREATER, 1, 0, last), *_give(_ALLOW)]
    return [*block, *_refuse()]


def architecture() -> int:
    """This machine's column in the tables."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        raise ConfinementError(f"hark has no system call filter for {machine}: it knows x86_64 and aarch64")
    return _MACHINES[machine]


def install(block: Block, *, listen: bool = False, unheard: Block | None = None) -> int | None:
    """Put the calling process, and all it starts, under `block`. NO_NEW_PRIVS must be set.

    `listen` returns a descriptor that is told of notified calls; without one they do not exist (ENOSYS). So
    it is where something above us listens already, as some containers do: the kernel has room for one. Then
    `unheard` is the filter, if there is one.
    """
    if listen:
        # A signal does not have an answered call made again (Linux 5.19), unless it kills.
        for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
            try:
                return _load(block, flags)
            except OSError as error:
                if error.errno == errno.EBUSY:
                    break
                if error.errno != errno.EINVAL or flags == _NEW_LISTENER:
                    raise
    _load(unheard or block, 0)
    return None


def _load(block: Block, flags: int) -> int:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in block)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(block), ctypes.addressof(buffer))
    return kernel.syscall(_SECCOMP[architecture()], "seccomp", _SET_MODE_FILTER, flags, header)
