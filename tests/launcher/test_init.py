"""Process 1: what it gives away, whom it reaps, and when it ends."""

import pytest

from launcher.report import Ended
from tests.launcher.rig import WHO, python, shell

pytestmark = pytest.mark.attack


@pytest.mark.parametrize("who", WHO)
def test_nothing_of_process_1_can_be_read(who: str) -> None:
    script = """
    for f in environ maps auxv stack syscall; do cat /proc/1/$f >/dev/null 2>&1 && echo $f; done
    for f in root cwd exe fd/0; do readlink /proc/1/$f; done; (: < /proc/1/mem) 2>/dev/null && echo mem
    tr -d '\\0 ' < /proc/1/cmdline"""
    assert shell(script, who=who).out == ""


def test_only_the_agents_processes_are_visible() -> None:
    assert shell("ls /proc | grep -E '^[0-9]+$' | sort -n | head -2").out.split() == ["1", "2"]


def test_orphans_are_reaped_while_the_agent_runs() -> None:
    program = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
def dead():
    names = [name for name in os.listdir("/proc") if name.isdigit()]
    return sum(open(f"/proc/{name}/stat").read().rpartition(") ")[2][0] == "Z" for name in names)
end = time.monotonic() + 60
while True:
    try:
        if not dead() or time.monotonic() > end: break
    except (FileNotFoundError, ProcessLookupError): pass
    time.sleep(0.01)
print(dead())
"""
    assert python(program).out == "0\n"


def test_an_orphans_end_is_not_taken_for_the_agents() -> None:
    assert shell("(setsid sh -c 'exit 9' &) ; sleep 0.2; exit 4").ended == Ended(code=4)


def test_a_process_that_ignores_everything_ends_with_the_run() -> None:
    script = "setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' & exit 0"
    assert shell(script).ended == Ended(code=0, left=2)


def test_the_agents_own_kill_of_everything_does_not_end_process_1() -> None:
    assert shell("trap '' TERM; kill -TERM -1; sleep 0.1; echo alive").out == "alive\n"
