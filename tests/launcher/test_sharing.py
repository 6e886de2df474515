"""What shims and supervisor share: the agent may read the page, and write the log alone."""

import resource
import signal
from typing import Any

import pytest

from launcher import pages
from launcher.supervise import Boundary
from tests.launcher.rig import WHO, python, shell

pytestmark = pytest.mark.attack
EACH = pytest.mark.parametrize("who", WHO)
SEED = bytes(range(32))


def begin(boundary: Boundary) -> None:
    boundary.log.prepare()
    boundary.page.begin(77, SEED, pages.SEEDED)


def read_log(boundary: Boundary) -> Any:
    return [len(boundary.log.records()[0]), boundary.log.programs()]


@EACH
def test_the_agent_reads_the_page_and_cannot_change_it(who: str) -> None:
    script = f"""
head -c 24 {pages.PAGE} | od -An -tx1
for page in {pages.PAGE}; do
  (echo x > $page) 2>/dev/null && echo written
  rm -f $page 2>/dev/null && echo removed
  chmod 666 $page 2>/dev/null && echo changed
done
mount -o remount,rw {pages.PAGE} 2>/dev/null && echo remounted
umount {pages.PAGE} 2>/dev/null && echo unmounted
echo done
"""
    result = shell(script, who=who, shim=True, before=begin, after=lambda b: b.page.wall_ns)
    begun = (b"HARKPG1\0" + (77).to_bytes(8, "little") + bytes(8)).hex(" ").split()
    assert result.out.split() == [*begun, "done"]
    assert result.found == 77


@EACH
def test_the_supervisor_moves_the_clock_that_the_agent_sees(who: str) -> None:
    program = f"""
import mmap, time
file = open({pages.PAGE!r}, "rb")
page = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
end = time.monotonic() + 20
while int.from_bytes(page[8:16], "little") != 99 and time.monotonic() < end: time.sleep(0.01)
print(int.from_bytes(page[8:16], "little"))
"""
    result = python(program, who=who, shim=True, before=begin, during=lambda b: b.page.set_wall(99))
    assert result.out == "99\n", result.err


@EACH
def test_the_log_takes_what_the_agent_writes_and_the_supervisor_survives_it(who: str) -> None:
    program = f"""
import os
with open({pages.LOG!r}, "r+b") as log:
    log.seek(8)
    log.write(b"\\xff" * 5000)
try: os.truncate({pages.LOG!r}, 10)
except OSError: print("kept")
"""

    result = python(program, who=who, shim=True, before=begin, after=read_log)
    assert result.out == "kept\n", result.err
    assert result.found == [32 << 18, []]


def test_where_files_may_not_be_long_the_run_goes_on_without_a_log() -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

    result = shell(
        f"stat -c %s {pages.LOG} {pages.PAGE}", change=limit, shim=True, before=begin, after=read_log
    )
    assert result.out.split() == ["8", "4096"]
    assert result.found == [0, []]


def test_without_a_shim_there_is_neither() -> None:
    assert shell(f"ls {pages.FOLDER} 2>&1; true").out.startswith("ls: cannot access")


@EACH
def test_addresses_are_the_same_in_each_process_where_that_is_asked_for(who: str) -> None:
    script = "for i in 1 2 3; do grep -m1 stack /proc/self/maps; done | sort -u | wc -l"
    assert shell(script, who=who, fixed_addresses=True).out.strip() == "1"
    assert shell(script, who=who).out.strip() == "3"
