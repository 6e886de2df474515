"""The system calls that Python has no name for, each seen to do what it says."""

import ctypes
import errno
import os
import signal
import time
from pathlib import Path

import pytest

from launcher import kernel
from tests.launcher.rig import apart


def test_a_refused_call_names_itself_and_its_argument() -> None:
    def work() -> tuple[str, int]:
        try:
            kernel.mount("tmpfs", "/nowhere/at/all", 0)
        except OSError as error:
            return str(error.filename), error.errno or 0
        return "", 0

    name, number = apart(work)
    assert name == "mount tmpfs on /nowhere/at/all"
    assert number > 0


@pytest.mark.attack
def test_a_tree_is_not_opened_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    def work() -> list[str]:
        os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNS)
        said = []
        for name in ("real/inner", "link/inner", "link"):
            try:
                os.close(kernel.open_tree(str(tmp_path / name)))
                said.append("opened")
            except OSError as error:
                said.append(errno.errorcode[error.errno or 0])
        return said

    assert apart(work, who="root") == ["opened", "ELOOP", "ELOOP"]


def test_close_range_closes_just_that() -> None:
    def work() -> list[bool]:
        descriptors = [os.dup(0) for _ in range(3)]
        kernel.close_range(descriptors[1], descriptors[1])
        kernel.close_range(5, 4)
        return [_is_open(descriptor) for descriptor in descriptors]

    assert apart(work) == [True, False, True]


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.mark.attack
def test_capabilities_are_gone_from_every_set() -> None:
    def work() -> list[str]:
        os.unshare(os.CLONE_NEWUSER)  # all capabilities, in a namespace of our own
        before = _capabilities()
        kernel.drop_capabilities()
        return [before, _capabilities()]

    before, after = apart(work)
    assert set(before) != {"0"}
    assert set(after) == {"0"}


def _capabilities() -> str:
    with open("/proc/self/status", "rb") as file:
        return "".join(line.decode().split()[1] for line in file if line.startswith(b"Cap"))


def test_arguments_are_blank_to_everyone_and_the_parents_are_kept() -> None:
    def work() -> tuple[bytes, bytes]:
        kernel.blank_arguments()
        with open("/proc/self/cmdline", "rb") as line, open("/proc/self/environ", "rb") as environ:
            return line.read().strip(b"\0"), environ.read().strip(b"\0")

    assert apart(work, who="root") == (b"", b"")
    with open("/proc/self/cmdline", "rb") as file:
        assert file.read().strip(b"\0") != b""


def test_a_child_dies_with_its_parent() -> None:
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        if os.fork() == 0:
            kernel.die_with_parent(signal.SIGKILL)
            os.write(write, b"x")
            time.sleep(60)
        time.sleep(60)
    os.close(write)
    os.read(read, 1)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert os.read(read, 1) == b""  # nobody holds the other end any more
    os.close(read)


@pytest.mark.parametrize("dumpable", [True, False])
def test_dumpability_decides_who_owns_our_proc_files(dumpable: bool) -> None:
    def work() -> bool:
        kernel.set_dumpable(dumpable=dumpable)
        return os.stat("/proc/self/fd").st_uid == os.getuid()

    assert apart(work) is dumpable


def test_no_new_privileges_stays() -> None:
    def work() -> int:
        kernel.no_new_privileges()
        return int(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))

    assert apart(work) == 1


def test_a_process_gets_its_name() -> None:
    def work() -> str:
        kernel.set_name("hark-a-long-name-that-is-cut")
        with open("/proc/self/comm", "rb") as file:
            return file.read().strip().decode()

    assert apart(work) == "hark-a-long-nam"


def test_an_unshare_that_fails_says_what_it_was_for() -> None:
    with pytest.raises(OSError, match="made up") as caught:
        kernel.unshare(1, "made up")  # which is no namespace
    assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, "made up")
