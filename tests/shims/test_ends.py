"""In a replay the processes that one started end in the recorded order, however long each of them takes."""

import time

import pytest

from hark.replay import clocklog
from tests.shims.rig import installed, python, shimmed

pytestmark = pytest.mark.attack

THREADS = """
import subprocess, sys, threading
ended = []
def run(number, how):
    subprocess.run(how, shell=True)
    ended.append(number)
tools = [threading.Thread(target=run, args=pair) for pair in enumerate(sys.argv[1:])]
for one in tools: one.start()
for one in tools: one.join()
print(*ended)
"""
NODE = """
const { exec } = require('child_process');
process.argv.slice(1).forEach((how, number) => exec(how, () => console.log(number)));
"""
SHELL = """
(sleep "$0"; exit 10) & (sleep "$1"; exit 11) & (sleep "$2"; exit 12) &
for one in 1 2 3; do wait -n; echo $(($? - 10)); done
"""


def ends(records: bytes) -> int:
    """How many ends are among the records of a log."""
    return sum(index >> 56 == 7 for _, index, _ in clocklog.RECORD.iter_unpack(records))


@pytest.mark.parametrize("by", ["threads", "node", "shell"])
def test_what_was_run_side_by_side_ends_in_the_recorded_order(by: str) -> None:
    """The control has no record, and each end comes when it comes."""
    if by == "node" and not installed("node"):
        pytest.skip("node is not installed")

    def run(*lasting: str, recorded: bytes | None) -> tuple[list[str], bytes]:
        sleeps = [f"sleep {one}; true" for one in lasting]
        result = {
            "threads": lambda: shimmed("/usr/bin/python3", "-c", THREADS, *sleeps, recorded=recorded),
            "node": lambda: shimmed("node", "-e", NODE, *sleeps, recorded=recorded),
            "shell": lambda: shimmed("/bin/bash", "-c", SHELL, *lasting, recorded=recorded),
        }[by]()
        return result.out.split(), result.found

    first, log = run("0.1", "0.5", "0.3", recorded=None)
    assert first == ["0", "2", "1"]
    assert ends(log) >= 6
    recorded = clocklog.settle(log)
    again, log = run("0.4", "0.2", "0.3", recorded=recorded)
    assert again == first
    assert ends(log) == ends(recorded)
    assert run("0.5", "0.1", "0.3", recorded=b"")[0] == ["1", "2", "0"]


def test_one_that_does_not_end_holds_nobody_for_long() -> None:
    """It slept a moment in the recording, and does so for long here: who came after it waits half a second."""
    script = '(sleep "$0") & sleep 0.3; (echo second); (echo third); (echo fourth)'
    recorded = clocklog.settle(shimmed("/bin/bash", "-c", script, "0.01", recorded=None).found)
    began = time.monotonic()
    result = shimmed("/bin/bash", "-c", script, "20", recorded=recorded)
    assert result.out.split() == ["second", "third", "fourth"]
    assert time.monotonic() - began < 15


def test_a_parent_that_is_always_at_work_holds_nobody_for_long() -> None:
    program = """
import subprocess, threading, time
over = []
def work():
    while not over: pass
threading.Thread(target=work).start()
for number in range(20): subprocess.run(["true"])
over.append(True)
print("done")
"""
    log = python(program, recorded=None).found
    began = time.monotonic()
    assert python(program, recorded=clocklog.settle(log)).out == "done\n"
    assert time.monotonic() - began < 60


def test_the_statuses_of_those_that_waited_are_their_own() -> None:
    program = """
import os, signal, subprocess
def child(end):
    pid = os.fork()
    if pid == 0: end()
    return os.waitpid(pid, 0)[1]
print(child(lambda: os._exit(7)) >> 8, child(lambda: os.kill(os.getpid(), signal.SIGKILL)))
print(subprocess.run(["sh", "-c", "exit 9"]).returncode, subprocess.run(["bash", "-c", "kill -TERM $$"]).returncode)
print(subprocess.run(["python3", "-c", "import sys; sys.stdout.write('late'); sys.exit(3)"], capture_output=True))
"""
    first = python(program, recorded=None)
    assert first.out.splitlines()[:2] == ["7 9", "9 -15"]
    assert "returncode=3, stdout=b'late'" in first.out
    assert python(program, recorded=clocklog.settle(first.found)).out == first.out
