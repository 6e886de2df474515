"""The filter, run by an interpreter of its instructions: for both architectures, on any machine."""

import errno
import os
import resource
import socket
import struct

import pytest

from hark.errors import ConfinementError
from launcher import seccomp
from launcher.numbers import ARM64, NEWEST_KNOWN, NUMBERS, X86_64
from launcher.syscalls import ALLOWED, JUDGED, MISSING, NESTED, UNNESTED
from tests.launcher.rig import contained, shell

ARCH = {X86_64: 0xC000003E, ARM64: 0xC00000B7}
ALLOW = "allow"
KILL = "kill"
ASK = "ask"
BOTH = pytest.mark.parametrize("architecture", [X86_64, ARM64], ids=["x86-64", "arm64"])


def run(program: seccomp.Block, number: int, args: tuple[int, ...] = (), arch: int = 0xC000003E) -> str:
    """What the kernel would decide."""
    data = struct.pack("<iIQ6Q", number, arch, 0, *(args + (0,) * 6)[:6])
    accumulator, position = 0, 0
    while True:
        code, yes, no, value = program[position]
        position += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            if value == 0x7FFF0000:
                return ALLOW
            if value == 0x7FC00000:
                return ASK
            return KILL if value == 0x80000000 else errno.errorcode.get(value & 0xFFFF, str(value & 0xFFFF))
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x35: accumulator >= value}
            holds[0x45] = bool(accumulator & value)
            position += yes if holds[code] else no


def verdict(architecture: int, name: str, *args: int, nested: bool = False) -> str:
    numbers = {**ALLOWED, **JUDGED, **MISSING, **NESTED}[name]
    number = numbers[architecture]
    if number is None:
        pytest.fail(f"{name} does not exist there")
    return run(seccomp.program(architecture, nested=nested), number, args, ARCH[architecture])


@BOTH
def test_every_number_is_allowed_exactly_if_it_stands_in_the_table(architecture: int) -> None:
    program = seccomp.program(architecture)
    allowed = {row[architecture] for row in ALLOWED.values()}
    judged = {row[architecture] for row in JUDGED.values()}
    missing = {row[architecture] for row in MISSING.values()}
    for number in range(NEWEST_KNOWN + 1):
        if number in judged:
            continue
        expected = ALLOW if number in allowed else "ENOSYS" if number in missing else "EPERM"
        assert run(program, number, arch=ARCH[architecture]) == expected, number


@BOTH
def test_a_call_of_another_architecture_kills(architecture: int) -> None:
    assert run(seccomp.program(architecture), 1, arch=0x40000003) == KILL
    other = ARCH[ARM64 if architecture == X86_64 else X86_64]
    assert run(seccomp.program(architecture), 1, arch=other) == KILL


@BOTH
@pytest.mark.parametrize("number", [NEWEST_KNOWN + 1, 0x40000000, 0x40000001, -1])
def test_newer_and_x32_calls_do_not_exist(architecture: int, number: int) -> None:
    assert run(seccomp.program(architecture), number, arch=ARCH[architecture]) == "ENOSYS"


NEW_USER = 0x10000000
NEW_CGROUP = 0x2000000
NEW_TIME = 0x80
OTHERS = (0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000)  # mounts, names, ipc, processes, network


@BOTH
@pytest.mark.parametrize("name", ["clone", "unshare"])
def test_no_namespace_is_made_and_a_user_namespace_is_asked_for(architecture: int, name: str) -> None:
    for flag in (NEW_CGROUP, *OTHERS):
        assert verdict(architecture, name, flag | 17) == "EPERM", hex(flag)
        assert verdict(architecture, name, flag | NEW_USER) == ASK, hex(flag)
    assert verdict(architecture, name, 0x003D0F00 & ~NEW_TIME) == ALLOW  # a thread


@BOTH
@pytest.mark.parametrize("name", ["clone", "unshare"])
def test_nested_every_namespace_is_made_but_one_of_cgroups_or_time(architecture: int, name: str) -> None:
    for flag in (NEW_USER, *OTHERS):
        assert verdict(architecture, name, flag | 17, nested=True) == ALLOW, hex(flag)
        assert verdict(architecture, name, flag | NEW_CGROUP, nested=True) == "EPERM", hex(flag)
    assert verdict(architecture, "unshare", NEW_USER | NEW_TIME, nested=True) == "EPERM"
    assert verdict(architecture, "unshare", NEW_TIME) == "EPERM"


@BOTH
@pytest.mark.parametrize("name", sorted(NESTED))
def test_mounts_are_for_nested_runs_alone(architecture: int, name: str) -> None:
    assert verdict(architecture, name) == "EPERM"
    assert verdict(architecture, name, nested=True) == ALLOW


@BOTH
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((socket.AF_UNIX, socket.SOCK_STREAM, 0), ALLOW),
        ((socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC, 6), ALLOW),
        ((socket.AF_INET6, socket.SOCK_DGRAM, 0), ALLOW),
        ((socket.AF_INET, socket.SOCK_STREAM, 262), ALLOW),
        ((socket.AF_INET, socket.SOCK_DGRAM, 1), ALLOW),
        ((socket.AF_INET, socket.SOCK_RAW, 1), "EPERM"),
        ((socket.AF_INET, 10, 0), "EPERM"),
        ((socket.AF_INET, socket.SOCK_STREAM, 132), "EPROTONOSUPPORT"),
        ((socket.AF_NETLINK, socket.SOCK_RAW, 0), ALLOW),
        ((socket.AF_NETLINK, socket.SOCK_RAW, 12), "EAFNOSUPPORT"),
        ((socket.AF_PACKET, socket.SOCK_RAW, 3), "EAFNOSUPPORT"),
        ((40, socket.SOCK_STREAM, 0), "EAFNOSUPPORT"),  # AF_VSOCK
        ((38, 5, 0), "EAFNOSUPPORT"),  # AF_ALG
    ],
)
def test_sockets_are_of_the_internet_unix_and_route_netlink_families_alone(
    architecture: int, args: tuple[int, ...], expected: str
) -> None:
    assert verdict(architecture, "socket", *args) == expected


@BOTH
def test_socket_pairs_are_of_the_unix_family_alone(architecture: int) -> None:
    assert (
        verdict(architecture, "socketpair", socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) == ALLOW
    )
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, 30, (1 << 32) | socket.AF_NETLINK):
        assert verdict(architecture, "socketpair", family, socket.SOCK_STREAM, 0) == "EAFNOSUPPORT", family


@BOTH
def test_no_typing_into_terminals(architecture: int) -> None:
    assert verdict(architecture, "ioctl", 0, 0x5412) == "EPERM"
    assert verdict(architecture, "ioctl", 0, 0x541C) == "EPERM"
    assert verdict(architecture, "ioctl", 0, (1 << 32) | 0x5412) == "EPERM"  # the kernel takes 32 bits
    assert verdict(architecture, "ioctl", 0, 0x5413) == ALLOW


@BOTH
@pytest.mark.parametrize("bits", [0o4000, 0o2000, 0o6000])
def test_no_setuid_or_setgid_bits(architecture: int, bits: int) -> None:
    mode = 0o755 | bits
    assert verdict(architecture, "fchmod", 3, mode) == "EPERM"
    assert verdict(architecture, "fchmodat", 0, 0, mode) == "EPERM"
    assert verdict(architecture, "fchmodat2", 0, 0, mode) == "EPERM"
    assert verdict(architecture, "mkdirat", 0, 0, mode) == "EPERM"
    assert verdict(architecture, "mknodat", 0, 0, mode) == "EPERM"
    assert verdict(architecture, "openat", 0, 0, os.O_CREAT, mode) == "EPERM"
    assert verdict(architecture, "openat", 0, 0, os.O_TMPFILE, mode) == "EPERM"
    assert verdict(architecture, "openat", 0, 0, os.O_RDONLY, mode) == ALLOW  # a stale register
    assert verdict(architecture, "openat", 0, 0, os.O_CREAT, 0o1755) == ALLOW
    assert verdict(architecture, "fchmod", 3, 0o755) == ALLOW


@pytest.mark.parametrize("name", ["chmod", "creat", "mkdir", "mknod"])
def test_old_calls_of_x86_64_are_judged_too(name: str) -> None:
    assert verdict(X86_64, name, 0, 0o4755) == "EPERM"
    assert verdict(X86_64, name, 0, 0o755) == ALLOW


def test_open_of_x86_64_is_judged_too() -> None:
    assert verdict(X86_64, "open", 0, os.O_CREAT, 0o4755) == "EPERM"
    assert verdict(X86_64, "open", 0, os.O_CREAT, 0o755) == ALLOW


@BOTH
def test_the_limit_on_core_dumps_stays_and_that_of_process_1_too(architecture: int) -> None:
    core, other = int(resource.RLIMIT_CORE), int(resource.RLIMIT_NOFILE)
    high = 1 << 32  # an address whose low half is zero
    for new in (1, high):
        assert verdict(architecture, "prlimit64", 0, core, new, 0) == "0"
        assert verdict(architecture, "prlimit64", 0, core, new, 1) == "EPERM"
        assert verdict(architecture, "prlimit64", 0, core, new, high) == "EPERM"
        assert verdict(architecture, "prlimit64", 7, (1 << 32) | core, new, 0) == "0"
        assert verdict(architecture, "prlimit64", 0, other, new, 1) == ALLOW
        assert verdict(architecture, "prlimit64", 1, other, new, 0) == "EPERM"
    assert verdict(architecture, "prlimit64", 0, core, 0, 1) == ALLOW
    assert verdict(architecture, "setrlimit", core, 1) == "0"
    assert verdict(architecture, "setrlimit", other, 1) == ALLOW


@BOTH
@pytest.mark.parametrize("name", sorted(UNNESTED))
def test_attributes_are_not_written_by_who_may_own_a_namespace(architecture: int, name: str) -> None:
    assert verdict(architecture, name) == ALLOW
    assert verdict(architecture, name, nested=True) == errno.errorcode[errno.EOPNOTSUPP]


DANGEROUS = {  # name: x86-64, arm64
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kcmp": (312, 272),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "acct": (163, 89),
    "clock_settime": (227, 112),
    "settimeofday": (164, 170),
    "adjtimex": (159, 171),
    "process_madvise": (440, 440),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
    "setdomainname": (171, 162),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
}


@BOTH
@pytest.mark.parametrize("nested", [False, True], ids=["plain", "nested"])
def test_dangerous_calls_are_refused_nested_or_not(architecture: int, nested: bool) -> None:
    program = seccomp.program(architecture, nested=nested)
    for name, numbers in DANGEROUS.items():
        assert run(program, numbers[architecture], arch=ARCH[architecture]) == "EPERM", name


@BOTH
def test_jumps_stay_inside_the_program_and_it_fits(architecture: int) -> None:
    program = seccomp.program(architecture)
    assert len(program) <= 4096
    for position, (code, yes, no, _value) in enumerate(program):
        assert max(yes, no) <= 255
        if code != 0x06:
            assert position + 1 + max(yes, no) < len(program)


def test_a_machine_without_a_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*real[:4], "riscv64")))
    with pytest.raises(ConfinementError, match="riscv64"):
        seccomp.architecture()


@pytest.mark.attack
def test_the_filter_is_in_force_inside() -> None:
    result = shell("grep Seccomp: /proc/self/status; grep NoNewPrivs /proc/self/status")
    assert result.out.split() == ["Seccomp:", "2", "NoNewPrivs:", "1"]


@pytest.mark.attack
def test_debuggers_may_trace_the_agents_own_children() -> None:
    import shutil

    if shutil.which("strace"):
        result = contained(("strace", "-f", "-o", "trace", "/bin/true"))
        assert result.ended is not None
        assert result.ended.code == 0, result.err
    assert ALLOWED["ptrace"] == (101, 117)


@BOTH
@pytest.mark.parametrize("nested", [False, True])
def test_process_1_keeps_its_share_of_the_processors(architecture: int, nested: bool) -> None:
    def judged(name: str, *args: int) -> str:
        return verdict(architecture, name, *args, nested=nested)

    for name in ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"):
        assert (judged(name, 1), judged(name, 0), judged(name, 7)) == ("EPERM", ALLOW, ALLOW)
        assert judged(name, (1 << 32) | 1) == "EPERM"  # a process's number has 32 bits
    for name, process in (("setpriority", os.PRIO_PROCESS), ("ioprio_set", 1)):
        for which in (process, process + 1):
            assert (judged(name, which, 1), judged(name, which, 0)) == ("EPERM", ALLOW)
        assert judged(name, process + 2, 0) == "EPERM"


@BOTH
def test_a_programs_start_and_reads_of_the_wall_clock_alone_are_notified(architecture: int) -> None:
    def told(name: str, *args: int, **which: bool) -> str:
        number = NUMBERS[name][architecture]
        program = seccomp.program(architecture, **which)
        return ALLOW if number is None else run(program, number, args, ARCH[architecture])

    on_start = ASK if architecture == X86_64 else ALLOW
    assert told("arch_prctl", 0x1002, starts=True) == on_start
    assert told("arch_prctl", 0x1003, starts=True) == told("arch_prctl", 0x1002) == ALLOW
    for clock in range(16):
        expected = ASK if clock in (0, 5, 8, 11) else ALLOW
        assert told("clock_gettime", clock, clock=True) == expected, clock
        assert told("clock_gettime", clock) == ALLOW
    assert told("gettimeofday", clock=True) == ASK
    assert told("gettimeofday", starts=True) == ALLOW
