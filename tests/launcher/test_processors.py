"""How many processors an agent is told of: by process 1 where it asks, by files where it reads."""

import errno
import os
import threading

import pytest

from launcher.processors import MOST, Answers, Processors, files, here, is_plausible, read_file
from tests.launcher.rig import WHO, python, shell

SHOWN = Processors(5, 7)
STAT = b"cpu  9 8 7\ncpu0 5 4 3\ncpu1 4 4 4\nintr 1\nctxt 2\n"
INFO = b"processor\t: 0\nmodel name\t: one\n\nprocessor\t: 1\nmodel name\t: other\n\nSerial\t: 5\n"


def test_files_tell_of_as_many_as_are_wanted_and_keep_the_rest() -> None:
    has = {"/proc/cpuinfo": INFO, "/proc/stat": STAT, "/sys/devices/system/cpu/online": b"0-1\n"}
    shown = files(3, has.get)
    assert shown["/sys/devices/system/cpu/online"] == b"0-2\n"
    assert shown["/proc/stat"].splitlines() == [
        *(b"cpu  9 8 7", b"cpu0 5 4 3", b"cpu1 5 4 3", b"cpu2 5 4 3", b"intr 1", b"ctxt 2"),
    ]
    assert [line for line in shown["/proc/cpuinfo"].splitlines() if line.startswith(b"processor")] == [
        *(b"processor\t: 0", b"processor\t: 1", b"processor\t: 2"),
    ]
    assert shown["/proc/cpuinfo"].endswith(b"\n\nSerial\t: 5\n")
    assert b"other" not in shown["/proc/cpuinfo"]
    assert files(1, has.get)["/sys/devices/system/cpu/online"] == b"0\n"


def test_a_file_that_the_machine_lacks_is_not_made_up() -> None:
    assert files(3, lambda _path: None) == {}
    assert files(3, {"/proc/cpuinfo": b"Features: none\n"}.get) == {"/proc/cpuinfo": b"Features: none\n"}
    assert read_file("/proc/no such file") is None


def test_counts_that_no_machine_has_are_told() -> None:
    assert is_plausible(here())
    assert is_plausible(Processors(1, MOST))
    assert not any(
        is_plausible(Processors(*counts)) for counts in ((0, 1), (1, 0), (MOST + 1, 1), (1, 1 << 40))
    )


def asked(answers: Answers, length: int, *, process: int = 0) -> tuple[int, int, bytes]:
    """Value, error and what stands in the memory of who asks."""
    memory = os.memfd_create("memory")
    try:
        value, error = answers.answer(memory, threading.get_native_id(), (process, length, 0))
        return value, error, os.pread(memory, 4096, 0)
    finally:
        os.close(memory)


def test_an_answer_is_laid_out_as_the_kernels() -> None:
    assert asked(Answers(Processors(5, 7)), 128) == (8, 0, b"\x1f" + bytes(7))
    assert asked(Answers(Processors(65, 65)), 128) == (16, 0, b"\xff" * 8 + b"\x01" + bytes(7))
    own = sum(1 << number for number in os.sched_getaffinity(0))
    assert asked(Answers(None), 128) == (8, 0, own.to_bytes(8, "little"))


def test_a_question_that_is_wrong_gets_the_kernels_error() -> None:
    answers = Answers(Processors(65, 65))
    assert asked(answers, 8) == (0, -errno.EINVAL, b"")
    assert asked(answers, 17) == (0, -errno.EINVAL, b"")
    assert asked(answers, 128, process=(1 << 31) - 1) == (0, -errno.ESRCH, b"")
    read_end, write_end = os.pipe()
    try:
        assert answers.answer(read_end, 0, (os.getpid(), 128, 0)) == (0, -errno.EFAULT)
    finally:
        os.close(read_end)
        os.close(write_end)


PROGRAM = """
import os, threading
found = [len(os.sched_getaffinity(0))]
asking = threading.Thread(target=lambda: found.append(len(os.sched_getaffinity(0))))
asking.start(); asking.join()
found.append(len(os.sched_getaffinity(os.getpid())))
own = min(os.sched_getaffinity(1) & ALL)
os.sched_setaffinity(0, {own})
found.append(os.sched_getaffinity(0) == {own})
print(found)
"""


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_whoever_asks_the_kernel_is_told_what_the_plan_says(who: str) -> None:
    program = PROGRAM.replace("ALL", repr(os.sched_getaffinity(0)))
    machine = len(os.sched_getaffinity(0))
    # Who has chosen its processors is told which; with one alone, that is no other than all of them.
    assert python(program, who=who, processors=SHOWN).out == f"[5, 5, 5, {machine > 1}]\n"
    assert python(program, who=who).out == f"[{machine}, {machine}, {machine}, True]\n"


def test_a_nested_agent_asks_the_kernel_itself() -> None:
    program = "import os; print(len(os.sched_getaffinity(0)))"
    assert python(program, processors=SHOWN, nested=True).out == f"{len(os.sched_getaffinity(0))}\n"


def test_files_of_the_kernels_can_be_covered() -> None:
    shown = files(SHOWN.online, read_file)
    script = (
        "getconf _NPROCESSORS_ONLN; grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat; nproc"
    )
    assert shell(script, processors=SHOWN, files=shown).out.split() == ["7", "7", "7", "5"]
    assert shell(script).out.split()[2] == str(here().online)
