"""Limits on processes, memory and private files, attacked inside a real boundary; controls without them."""

import os
import re
import resource
from typing import Final

import pytest

from hark.policy.model import Limits
from launcher import ceilings
from tests.launcher.rig import WHO, apart, python, shell, without

MIB: Final = 1 << 20

GIVES_UP: Final = """
import os, time
while True:
    if os.fork() == 0:
        time.sleep(60)
"""
BOMB: Final = """
import os, sys, time
alive = 0
for _ in range(80):
    try:
        if os.fork() == 0:
            time.sleep(60)
    except BlockingIOError:
        time.sleep(0.01)
    else:
        alive += 1
print(alive)
time.sleep(PAUSE)
"""
FEWER: Final = BOMB.replace("range(80)", "range(40)").replace("PAUSE", "0.5")
THREADS: Final = """
import threading, time
for _ in range(80):
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError:
        time.sleep(0.01)
print("all")
time.sleep(PAUSE)
"""
HOG: Final = """
import time
held = [bytearray(1 << 20) for _ in range(256)]
print("held")
time.sleep(PAUSE)
"""
MANY_HOGS: Final = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(b"x" * (32 << 20))
        time.sleep(60)
time.sleep(PAUSE)
print("held")
"""
HIDDEN_HOG: Final = """
import ctypes, threading, time
def hold():
    held = bytearray(b"x" * (256 << 20))
    time.sleep(PAUSE)
    print("held", flush=True)
threading.Thread(target=hold).start()
ctypes.CDLL(None).pthread_exit(None)
"""
SEGMENTS: Final = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(16):
    size = 16 << 20
    place = libc.shmat(libc.shmget(0, size, 0o1600), None, 0)
    ctypes.memset(place, 1, size)
    libc.shmdt(ctypes.c_void_p(place))
print("held")
time.sleep(PAUSE)
"""
MOUNTS: Final = """
import ctypes, os, time
libc, uid, gid = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
if libc.unshare(0x10020000):
    raise OSError(ctypes.get_errno(), "unshare")
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
open("/proc/self/gid_map", "w").write(f"0 {gid} 1")
os.makedirs("/tmp/an own")
if libc.mount(b"none", b"/tmp/an own", b"tmpfs", 0, None):
    raise OSError(ctypes.get_errno(), "mount")
with open("/tmp/an own/file", "wb") as file:
    for _ in range(256):
        file.write(bytes(1 << 20))
print("held")
time.sleep(PAUSE)
"""
FILLER: Final = """
import time
wrote = 0
for name in ("/tmp", "/var/tmp", "/dev/shm", "/home/agent"):
    for number in range(4):
        try:
            with open(f"{name}/{number}", "wb") as file:
                wrote += file.write(bytes(4 << 20))
        except OSError:
            pass
print(wrote)
time.sleep(PAUSE)
"""
EMPTY_FILES: Final = """
import time
for number in range(20000):
    try:
        open(f"/tmp/{number}", "w").close()
    except OSError:
        break
print(number)
time.sleep(PAUSE)
"""

ATTRIBUTES: Final = """
import os, time
for number in range(2000):
    open(f"/tmp/{number}", "w").close()
    try:
        os.setxattr(f"/tmp/{number}", "user.a", bytes(65000))
    except OSError:
        break
print(number)
time.sleep(PAUSE)
"""
HAS_ATTRIBUTES: Final = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 6)
"""Whether a tmpfs takes attributes from everybody, and so can be filled with them."""
SOCKETS: Final = """
import socket, time
listening = socket.create_server(("127.0.0.1", 0))
held = []
for number in range(150):
    pair = socket.socketpair() if number % 2 else (socket.create_connection(listening.getsockname()), None)
    pair[0].setblocking(False)
    held.append((*pair, None if number % 2 else listening.accept()))
    try:
        while pair[0].send(bytes(4096)):
            pass
    except BlockingIOError:
        pass
print("held")
time.sleep(PAUSE)
"""

ATTACKS: Final = (
    ("processes", BOMB, Limits(processes=20)),
    ("processes", THREADS, Limits(processes=20)),
    ("memory", HOG, Limits(memory=64 * MIB)),
    ("memory", MANY_HOGS, Limits(memory=128 * MIB)),
    ("memory", HIDDEN_HOG, Limits(memory=160 * MIB)),
    ("memory", SEGMENTS, Limits(memory=128 * MIB)),
    ("memory", MOUNTS, Limits(memory=128 * MIB)),
    ("memory", FILLER, Limits(memory=32 * MIB)),
    ("memory", SOCKETS, Limits(memory=128 * MIB)),
    ("memory", EMPTY_FILES, Limits(memory=20 * MIB)),
    *[("memory", ATTRIBUTES, Limits(memory=96 * MIB))] * HAS_ATTRIBUTES,
    ("disk", FILLER, Limits(disk=6 * MIB)),
    ("disk", EMPTY_FILES, Limits(disk=1 * MIB)),
)
NAMES: Final = [
    "a fork bomb",
    "a bomb of threads",
    "a memory hog",
    "many hogs, each below the limit",
    "a hog whose first thread has ended",
    "shared memory that nobody has mapped",
    "a file system in memory that a nested agent mounts",
    "files in memory",
    "what sockets hold that nobody reads",
    "empty files in memory",
    *["attributes of files in memory"] * HAS_ATTRIBUTES,
    "a disk filler",
    "a flood of empty files",
]


def _off() -> None:
    """The defence taken away: the kernel's part and process 1's."""
    without(ceilings, "impose")()
    without(ceilings, "scratch_options", lambda _limits: "")()
    without(ceilings.Ceilings, "look")()
    without(ceilings.Ceilings, "last_look")()
    from launcher import mounts

    without(mounts, "scratch_options", lambda _limits: "")()


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(("key", "program", "limits"), ATTACKS, ids=NAMES)
def test_the_run_ends_and_says_which_limit_was_passed(
    key: str, program: str, limits: Limits, who: str
) -> None:
    result = python(program.replace("PAUSE", "60"), limits=limits, who=who, nested=program == MOUNTS)
    assert result.ended is not None, result.error
    assert (result.ended.limit or "").startswith(f"limits.{key} was reached: "), (result, result.err)
    assert result.ended.killed is None


@pytest.mark.attack
@pytest.mark.parametrize(("key", "program", "limits"), ATTACKS, ids=NAMES)
def test_without_the_defence_the_same_program_gets_what_it_wants(
    key: str, program: str, limits: Limits
) -> None:
    result = python(program.replace("PAUSE", "1"), limits=limits, change=_off, nested=program == MOUNTS)
    assert result.ended is not None, result.error
    assert (result.ended.code, result.ended.limit) == (0, None), result.err
    assert result.out.strip() in {"80", "all", "held", str(16 * 4 * MIB), "19999", "1999"}


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_exactly_as_many_processes_as_allowed_may_live(who: str) -> None:
    program = """
import os, time
for _ in range(9):
    if os.fork() == 0:
        time.sleep(60)
time.sleep(0.5)
print("ten")
"""
    assert python(program, limits=Limits(processes=10), who=who).out == "ten\n"
    assert python(program, limits=Limits(processes=10), who=who, published=(8000,)).out == "ten\n"


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("counted", [True, False], ids=["as it is", "without the one more"])
def test_a_published_port_does_not_hide_that_the_number_of_processes_was_passed(
    who: str, counted: bool
) -> None:
    """Its process counts for the kernel: with too little room a fork fails, and nobody is told of a limit."""
    impose = ceilings.impose
    change = None if counted else without(ceilings, "impose", lambda limits, **_: impose(limits))
    bomb = BOMB.replace("PAUSE", "1")
    result = python(bomb, limits=Limits(processes=20), who=who, published=(8000,), change=change)
    assert result.ended is not None, result.error
    limit = result.ended.limit
    assert (limit or "").startswith("limits.processes was reached: 21 ") if counted else limit is None


@pytest.mark.attack
def test_the_kernel_lets_no_more_than_one_beyond_begin_even_between_two_looks() -> None:
    def blind() -> None:
        without(ceilings.Ceilings, "look")()
        without(ceilings.Ceilings, "last_look")()

    result = python(
        FEWER,
        limits=Limits(processes=20),
        change=blind,
    )
    assert result.out == "20\n"  # and the program itself


@pytest.mark.attack
def test_a_file_anywhere_may_be_as_large_as_the_disk_limit_and_no_larger() -> None:
    result = shell("exec head -c 3000000 /dev/zero > big", limits=Limits(disk=2 * MIB))
    assert result.ended is not None
    assert result.ended.limit == "limits.disk was reached: no file may be larger than 2097152 bytes"
    assert shell("exec head -c 2000000 /dev/zero > big", limits=Limits(disk=2 * MIB)).ended.code == 0


@pytest.mark.attack
@pytest.mark.parametrize("nested", [False, True])
def test_no_file_in_memory_can_be_held_by_a_descriptor_alone(nested: bool) -> None:
    """What would be in none of the private file systems, and mapped by nobody: nothing would count it."""
    program = """
import os
import re
try:
    os.memfd_create("x")
except OSError as error:
    print(error.strerror)
"""
    said = python(program, limits=Limits(memory=512 * MIB), nested=nested).out
    assert said == "Function not implemented\n"


@pytest.mark.attack
def test_the_agent_cannot_raise_a_limit() -> None:
    program = """
import resource
for what in (resource.RLIMIT_NPROC, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
    soft, hard = resource.getrlimit(what)
    try:
        resource.setrlimit(what, (hard + 1, hard + 1))
    except (ValueError, OSError) as error:
        print(type(error).__name__)
"""
    limits = Limits(processes=10, memory=512 * MIB, disk=MIB)
    assert python(program, limits=limits).out == "ValueError\n" * 3


@pytest.mark.attack
def test_a_program_within_its_limits_runs_as_without_them() -> None:
    limits = Limits(processes=30, memory=512 * MIB, disk=8 * MIB)
    result = shell("for i in 1 2 3 4; do sleep 0.1 & done; wait; echo x > /tmp/x; exit 3", limits=limits)
    assert result.ended is not None
    assert (result.ended.code, result.ended.limit) == (3, None)


def test_a_lower_limit_of_the_callers_stays() -> None:
    def work() -> tuple[int, int]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 2000))
        ceilings.impose(Limits(disk=MIB))
        return resource.getrlimit(resource.RLIMIT_FSIZE)

    assert apart(work) == (2000, 2000)


def test_what_holds_each_limit_is_said_and_nothing_of_those_that_are_not_set() -> None:
    assert ceilings.in_force(Limits(time_s=5, events_per_s=10)) == ()
    processes, memory, disk = ceilings.in_force(Limits(processes=5, memory=MIB, disk=7))
    assert processes.startswith("limits.processes 5: RLIMIT_NPROC in the run's user namespace")
    assert memory.startswith("limits.memory 1048576 bytes: RLIMIT_DATA at 1074790400 for each process")
    assert disk.startswith("limits.disk 7 bytes: the size of each private tmpfs")
    assert all(line.endswith("counted 20 times a second") for line in (processes, memory, disk))


@pytest.mark.attack
def test_an_agent_that_ends_of_a_limit_before_anybody_looked_ends_by_the_limit() -> None:
    def blind() -> None:
        without(ceilings.Ceilings, "look")()

    result = python(GIVES_UP, limits=Limits(processes=20), change=blind)
    assert result.ended is not None
    assert result.ended.limit == "limits.processes was reached: 21 processes and threads, and 20 are allowed"
    full = shell("cat /dev/zero > /tmp/x 2> /dev/null; exit 5", limits=Limits(disk=MIB), change=blind)
    assert full.ended is not None
    assert (full.ended.limit or "").startswith("limits.disk was reached: ")


@pytest.mark.attack
def test_a_user_namespace_of_the_agents_own_does_not_lift_a_limit() -> None:
    enter = """
import ctypes, os
uid = os.getuid()
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
    raise OSError(ctypes.get_errno(), "unshare")
open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
assert os.getuid() == 0
"""

    def blind() -> None:
        without(ceilings.Ceilings, "look")()
        without(ceilings.Ceilings, "last_look")()

    result = python(
        enter + FEWER,
        limits=Limits(processes=20),
        nested=True,
        change=blind,
    )
    assert result.out == "20\n", result.err
    seen = python(enter + BOMB, limits=Limits(processes=20), nested=True)
    assert seen.ended is not None
    assert (seen.ended.limit or "").startswith("limits.processes was reached: ")
