"""File systems in memory of others' namespaces are found, each once, however many threads there are."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher import aside
from launcher.aside import Aside

MIB = 1 << 20
HELD = range(5 * MIB + 1, 5 * MIB + (16 << 10))
"""What the two files are, and names."""
MOUNTED = """
import ctypes, os, sys
libc, uid, gid = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
if libc.unshare(0x10020000):
    sys.exit(3)
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
open("/proc/self/gid_map", "w").write(f"0 {gid} 1")
place = sys.argv[1]
for size in (3, 2):
    os.makedirs(place, exist_ok=True)
    if libc.mount(b"none", place.encode(), b"tmpfs", 0, None):
        sys.exit(4)
    open(f"{place}/file", "wb").write(bytes(size << 20))
    place += "/a blank"
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[int]:
    """A process with two file systems in memory, one in the other, that nobody else sees."""
    argv = [sys.executable, "-c", MOUNTED, str(tmp_path / "one")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            pytest.skip("this machine lets nobody make a user namespace")
        yield process.pid
        process.kill()


def proc_of(tmp_path: Path, *pids: int) -> str:
    """A procfs in which there are these processes alone."""
    proc = tmp_path / "proc"
    proc.mkdir()
    for pid in pids:
        (proc / str(pid)).symlink_to(f"/proc/{pid}")
    (proc / "self").symlink_to(f"/proc/{os.getpid()}")
    return str(proc)


def test_what_others_mount_in_memory_is_counted_while_it_is_there(tmp_path: Path, mounted: int):
    walk = Aside(lambda: 0.0, proc_of(tmp_path, os.getpid(), mounted))
    assert walk.look() in HELD
    assert walk.look() in HELD
    os.kill(mounted, 9)
    os.waitpid(mounted, 0)
    assert walk.look() == 0


def test_a_walk_goes_on_where_the_last_look_ended(tmp_path: Path, mounted: int):
    now = iter(float(number) for number in range(100))
    walk = Aside(lambda: next(now), proc_of(tmp_path, mounted))
    looks = [walk.look() for _ in range(4)]
    assert looks[0] == 0, "the control: one look has time for one thread"
    assert any(look in HELD for look in looks)


def test_what_this_process_sees_itself_is_not_counted(tmp_path: Path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert Aside(lambda: 0.0, proc_of(tmp_path, other.pid, os.getpid())).look() == 0
        other.kill()


def test_a_process_that_has_ended_is_passed_over(tmp_path: Path):
    assert Aside(lambda: 0.0, proc_of(tmp_path, 1 << 30)).look() == 0
    assert aside._in_memory("/proc/nobody") == []
    assert aside._used(0, "/proc/nobody") == {}
    assert aside._used(0, "/") == {}
