"""Static programs in a run with a clock of its own: what they are shown, and what they cannot do with it."""

import os
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hark.replay import clocklog
from launcher import pages, unshimmed, vdso
from launcher.supervise import Boundary
from tests.launcher.rig import WHO, Result, contained, without

pytestmark = [
    pytest.mark.attack,
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="no call tells of a start on arm64"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler here"),
]
SEED = bytes(range(32))
THEN = 1_000_000_000
"""What the page says: a time long ago, Unix seconds."""
TOLD = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long long at(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec; }
static void *in_thread(void *out) { *(long long *)out = at(0); return 0; }
"""
CLOCKS = """
int main(void) {
    struct timeval v; struct timespec t; time_t x; long long other; pthread_t thread;
    gettimeofday(&v, 0);
    syscall(SYS_clock_gettime, 0, &t);
    pthread_create(&thread, 0, in_thread, &other);
    pthread_join(thread, 0);
    printf("%lld %lld %ld %ld ", at(0), at(5), (long)v.tv_sec, (long)time(0));
    printf("%ld %ld %lld ", (long)time(&x), (long)t.tv_sec, other);
    fflush(stdout);
    if (fork() == 0) { printf("%lld ", at(0)); fflush(stdout); _exit(0); }
    wait(0);
    printf("%lld %lld\\n", at(11), at(1));
}
"""
RANDOM = """
int main(void) {
    const unsigned char *bytes = (void *)getauxval(AT_RANDOM);
    for (int i = 0; i < 16; i++) printf("%02x", bytes[i]);
    puts("");
}
"""
MARK = f"""
#define MARK {vdso.MARK}
static long mark(long number, long a, long b, long key) {{
    return syscall(number, a, b, MARK, key) < 0 ? -errno : 0;
}}
"""


@cache
def compiled(code: str) -> bytes:
    with TemporaryDirectory(prefix="hark-static-") as folder:
        source, target = Path(folder, "a.c"), Path(folder, "a")
        source.write_text(TOLD + code)
        subprocess.run(["cc", "-static", "-O1", "-w", "-o", target, source], check=True)
        return target.read_bytes()


def begin(boundary: Boundary) -> None:
    boundary.log.prepare()
    boundary.page.begin(THEN * 10**9, SEED, pages.SEEDED | pages.CLOCKED | pages.REPLAYED)


def shown(code: str, script: str = "./told", *, who: str = "ordinary user", **options: Any) -> Result:
    """Run a static program where the clock stands at THEN."""
    content = compiled(code)

    def prepare(folder: Path) -> None:
        (folder / "told").write_bytes(content)
        (folder / "told").chmod(0o755)

    given: dict[str, Any] = {"shim": True, "seed": SEED, "fixed_addresses": True, "before": begin}
    files = {pages.RECORDED: clocklog.replayed(b"")}
    return contained(("/bin/sh", "-c", script), who=who, prepare=prepare, files=files, **given | options)


@pytest.mark.parametrize("who", WHO)
def test_every_call_of_a_static_program_is_shown_the_runs_clock(who: str) -> None:
    result = shown(CLOCKS, who=who)
    *wall, international, monotonic = map(int, result.out.split())
    assert wall == [THEN] * 8, result.err
    assert THEN <= international <= THEN + 60
    assert abs(monotonic - time.monotonic()) < 300
    assert result.ended is not None
    assert "told" not in result.ended.unreached


def test_with_the_vdso_as_it_is_it_is_shown_the_machines_clock() -> None:
    result = shown(CLOCKS, change=without(vdso.Image, "changes", lambda *_a, **_k: []))
    first, *_rest = map(int, result.out.split())
    assert abs(first - time.time()) < 300


def test_where_this_kernels_vdso_is_another_than_we_know_that_is_told() -> None:
    def unknown() -> vdso.Image:
        raise vdso.NoImageError("this kernel has no vDSO")

    result = shown(CLOCKS, change=without(vdso, "own", unknown))
    assert abs(int(result.out.split()[0]) - time.time()) < 300
    assert result.ended is not None
    assert "told" in result.ended.unreached


@pytest.mark.parametrize("script", ["date +%s", "/lib64/ld-linux-x86-64.so.2 /bin/date +%s"])
def test_a_dynamic_program_is_left_to_its_shim(script: str) -> None:
    assert os.path.exists("/lib64/ld-linux-x86-64.so.2")
    assert abs(int(shown(CLOCKS, script).out) - time.time()) < 300  # there is no preload in this run


def test_where_the_clock_is_the_machines_it_stays_that() -> None:
    def seeded(boundary: Boundary) -> None:
        boundary.log.prepare()
        boundary.page.begin(THEN * 10**9, SEED, pages.SEEDED)

    result = shown(CLOCKS, before=seeded)
    assert abs(int(result.out.split()[0]) - time.time()) < 300


def test_what_a_program_gets_of_chance_at_its_start_follows_from_the_seed() -> None:
    script = "./told; ./told; ./told & wait"
    first, again = shown(RANDOM, script), shown(RANDOM, script)
    assert first.out == again.out
    assert len(set(first.out.split())) == 3
    bare = [shown(RANDOM, script, seed=b"", before=_unseeded).out for _ in range(2)]
    assert bare[0] != bare[1]


def _unseeded(boundary: Boundary) -> None:
    boundary.log.prepare()
    boundary.page.begin(THEN * 10**9, bytes(32), pages.CLOCKED)


def test_a_canary_of_a_static_program_is_its_own_and_holds() -> None:
    code = """
int main(void) {
    volatile char room[64];
    for (int i = 0; i < 64; i++) room[i] = i;
    puts(room[9] == 9 ? "whole" : "broken");
}
"""
    assert shown(code, "./told; ./told").out == "whole\nwhole\n"


def test_places_that_are_none_are_answered_as_the_kernel_does() -> None:
    code = f"""{MARK}
int main(void) {{
    printf("%ld %ld %ld ", mark(228, 0, 8, 1), mark(228, 0, -8, 1), mark(228, 0, 0, 1));
    printf("%ld %ld %ld ", mark(96, 8, 0, 1), mark(96, 0, 0, 1), mark(201, 0, 0, 1));
    printf("%ld %ld\\n", mark(201, 8, 0, 1), mark(228, 0, (long)main, 77));
}}
"""
    assert shown(code).out == "-14 -14 -14 -14 0 0 -14 0\n"


def test_a_program_that_says_over_and_over_that_it_starts_harms_itself_alone() -> None:
    code = """
int main(void) {
    unsigned long base; syscall(SYS_arch_prctl, 0x1003, &base);
    for (int i = 0; i < 3000; i++) syscall(SYS_arch_prctl, 0x1002, base);
    munmap((void *)getauxval(AT_SYSINFO_EHDR), 8192);
    for (int i = 0; i < 100; i++) syscall(SYS_arch_prctl, 0x1002, base);
    puts("still here");
}
"""
    result = shown(code, "./told; echo after")
    assert result.out == "still here\nafter\n", result.err


def test_who_has_something_else_where_its_vdso_was_keeps_it() -> None:
    code = """
int main(void) {
    unsigned long base; syscall(SYS_arch_prctl, 0x1003, &base);
    char *place = (char *)getauxval(AT_SYSINFO_EHDR);
    munmap(place, 8192);
    char *own = mmap(place, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(own, 5, 8192);
    syscall(SYS_arch_prctl, 0x1002, base);
    int same = 1;
    for (int i = 0; i < 8192; i++) same &= own[i] == 5;
    syscall(SYS_write, 1, same ? "same\\n" : "other\\n", same ? 5 : 6);
    syscall(SYS_exit_group, 0);
}
"""
    assert shown(code).out == "same\n"


def test_callers_that_are_killed_while_they_ask_do_no_harm() -> None:
    code = """
int main(void) {
    for (int i = 0; i < 40; i++) {
        int child = fork();
        if (child == 0) for (;;) at(0);
        usleep(2000);
        kill(child, 9);
        waitpid(child, 0, 0);
    }
    printf("%lld\\n", at(0));
}
"""
    result = shown(code.replace("int main", "#include <signal.h>\nint main"))
    assert result.out == f"{THEN}\n", result.err
    assert result.ended is not None
    assert result.ended.killed is None


def test_nested_namespaces_leave_it_the_machines_clock() -> None:
    result = shown(CLOCKS, nested=True)
    assert abs(int(result.out.split()[0]) - time.time()) < 300


def test_a_program_that_is_gone_is_looked_at_without_harm() -> None:
    """A thread that is gone is no fault."""

    def gone() -> None:
        raise OSError

    nobody = unshimmed.Unshimmed(vdso.own(), unshimmed.Draws(b""), seeded=False, clock=None, rows=None)
    assert nobody.start(2**22 + 1, gone) is True
    assert not nobody.covers(2**22 + 1)
    assert nobody.lineage(2**22 + 1) == b""
