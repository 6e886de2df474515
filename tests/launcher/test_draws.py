"""getrandom as a system call, answered out of the seed by process 1."""

import hashlib
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from launcher import pages
from launcher.draws import Draws
from tests.launcher.rig import WHO, contained, python, shell

SEED = bytes(range(32))
ASK = """
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
def ask(length, flags=0, address=None):
    room = ctypes.create_string_buffer(max(length, 1))
    got = libc.syscall(318 if os.uname().machine == "x86_64" else 278, address or room, length, flags)
    return room.raw[:got].hex() if got >= 0 else -ctypes.get_errno()
"""
attack = pytest.mark.attack


def test_nothing_is_drawn_twice_however_many_ask():
    draws = Draws(SEED)
    seen = [draws.draw(thread, 8) for thread in (1, 2, *range(70000), 1, 69999)]
    assert len(set(seen)) == len(seen)
    assert Draws(SEED).draw(1, 8) == seen[0]
    assert Draws(bytes(32)).draw(1, 8) != seen[0]


def test_the_epochs_seed_is_drawn_from_and_the_counts_go_on() -> None:
    memory = os.memfd_create("page")
    os.ftruncate(memory, pages.PAGE_BYTES)
    page = pages.Page(memory)
    page.begin(5, SEED, pages.SEEDED)
    draws, plain = Draws(SEED, memory), Draws(SEED)
    assert [draws.draw(1, 8), draws.draw(2, 8)] == [plain.draw(1, 8), plain.draw(2, 8)]
    page.draw_from(b"n" * 32)
    fresh = Draws(b"n" * 32)
    fresh.draw(1, 8)
    assert draws.draw(1, 8) == fresh.draw(1, 8) != plain.draw(1, 8)


@attack
@pytest.mark.parametrize("who", WHO)
def test_a_system_call_of_its_own_draws_from_the_seed(who: str) -> None:
    program = f"{ASK}\nprint(os.getpid(), ask(16), ask(16))"
    first, again = (python(program, who=who, seed=SEED).out for _ in range(2))
    assert first == again
    process, *drawn = first.split()
    expected = [
        hashlib.shake_256(b"hark getrandom" + SEED + struct.pack("<IQ", int(process), number)).hexdigest(16)
        for number in range(20)
    ]
    assert drawn[0] in expected
    assert expected.index(drawn[1]) == expected.index(drawn[0]) + 1
    assert python(program, who=who).out.split()[1:] != drawn


@attack
def test_it_answers_as_the_kernel_does() -> None:
    program = f"{ASK}\nprint(ask(0), ask(8, 64), ask(8, 0, 8), ask(8, 0, -4096), len(ask(300000)), len(ask(256, 3)))"
    assert python(program, seed=SEED).out.split() == ["-22", "-14", "-14", str(2 << 18), "512"]


@attack
def test_threads_signals_and_deaths_do_not_stop_it() -> None:
    program = f"""{ASK}
import signal
signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
threads = [threading.Thread(target=lambda: [ask(8) for _ in range(300)]) for _ in range(4)]
[t.start() for t in threads]; [ask(8) for _ in range(300)]; [t.join() for t in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
for _ in range(20):
    child = os.fork()
    if child == 0:
        while True: ask(8)
    os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
print(len(ask(8)))
"""
    assert python(program, seed=SEED).out == "16\n"


@attack
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler here")
def test_a_static_program_draws_from_the_seed_and_is_told_of(tmp_path: Path) -> None:
    source = tmp_path / "draw.c"
    source.write_text(
        "#include <stdio.h>\n#include <sys/random.h>\n"
        'int main(void) { unsigned char b[8]; getrandom(b, 8, 0); for (int i = 0; i < 8; i++) printf("%02x", b[i]); }'
    )
    subprocess.run(["cc", "-static", "-o", str(tmp_path / "draw"), str(source)], check=True)

    def prepare(folder: Path) -> None:
        (folder / "draw").write_bytes(content)
        (folder / "draw").chmod(0o755)

    content = (tmp_path / "draw").read_bytes()
    found = [contained(("/bin/sh", "-c", "./draw; ./draw"), prepare=prepare, seed=SEED) for _ in range(2)]
    assert found[0].out == found[1].out
    assert len({found[0].out[:16], found[0].out[16:]}) == 2
    assert found[0].ended is not None
    assert "draw" in found[0].ended.unreached


MANY_MAPPINGS = """
import ctypes, mmap, os, sys
from launcher import draws
libc, page, count = ctypes.CDLL(None), mmap.PAGESIZE, int(sys.argv[1])
libc.mmap.restype = ctypes.c_void_p
start = libc.mmap(None, ctypes.c_size_t(2 * count * page), 0, 0x22, -1, ctypes.c_long(0))
for at in range(count):
    assert libc.mprotect(ctypes.c_void_p(start + 2 * at * page), ctypes.c_size_t(page), 1) == 0
print(draws.has_shim(os.getpid()))
"""


@pytest.mark.parametrize(("mappings", "has"), [(10, False), (8000, True)])
def test_mappings_are_not_read_without_end(mappings: int, has: bool) -> None:
    """Who has thousands of them could have process 1 read for seconds, in which it looks at no limit."""
    argv = [sys.executable, "-c", MANY_MAPPINGS, str(mappings)]
    assert subprocess.check_output(argv, text=True) == f"{has}\n"


@attack
def test_without_a_seed_the_kernel_answers() -> None:
    program = f"{ASK}\nprint(ask(8))"
    assert python(program).out != python(program).out
    result = shell("true")
    assert result.ended is not None
    assert result.ended.unreached == ()
