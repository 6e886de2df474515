"""The preload inside a real boundary: the same seed and clock make the same run, and nothing hangs."""

import hashlib
import struct
import uuid
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from tests.shims.rig import SEED, SYSTEM_PYTHON, WALL_NS, installed, python, shell, shimmed

pytestmark = pytest.mark.attack

DRAWS = """
import os, uuid, secrets, random, tempfile, ssl
print(os.urandom(16).hex(), os.getrandom(8).hex(), uuid.uuid4(), secrets.token_hex(9), random.random())
print(random.Random().random(), random.SystemRandom().random(), tempfile.mktemp(), ssl.RAND_bytes(12).hex())
print(id(object()), set("abcdefgh"), open("/dev/urandom", "rb").read(9).hex(), open("/dev/random","rb").read(5).hex())
"""


def block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """One block of ChaCha20, by another hand."""
    cipher = Cipher(ChaCha20(key, struct.pack("<I", counter) + nonce), None).encryptor()
    return cipher.update(bytes(64))


def descend(lineage: bytes, number: int, way: int) -> bytes:
    """As `descend` of shims/preload/lineage.h."""
    return block(lineage + struct.pack("<QQ", number, way), 0, bytes(12))[:16]


def expected(lineage: bytes, draw: int, length: int) -> bytes:
    """As `generate` under the thread's key, of shims/preload/random.h."""
    (counter,) = struct.unpack("<I", lineage[12:])
    key = block(SEED, counter, lineage[:12])[:32]
    return block(key, 0, struct.pack("<QI", draw, length))[:length]  # up to 64 bytes the length is its number


AGENT = descend(bytes(16), 0, 5)
"""Its lineage: the first that came by a way that nobody saw."""


def test_a_draw_is_chacha20_of_seed_lineage_and_number():
    program = """
import ctypes
libc = ctypes.CDLL(None)
out = ctypes.create_string_buffer(40)
libc.hark_lineage(out)
print(out.raw[:16].hex())
before = None
for _ in range(2):
    libc.getrandom(out, 40, 0)
    print(out.raw.hex())
libc.hark_draw(b"task 1", 6, out, 40); first = out.raw
libc.hark_draw(b"task 2", 6, out, 40); second = out.raw
libc.hark_draw(b"task 1", 6, out, 40)
print(first == out.raw, first == second)
"""
    lineage, one, two, labelled = python(program).out.splitlines()
    assert bytes.fromhex(lineage) == AGENT
    draws = [expected(AGENT, number, 40).hex() for number in range(40)]
    assert draws.index(two) == draws.index(one) + 1
    assert labelled == "True False"


def test_a_draw_of_one_size_shifts_none_of_another():
    """A library that draws a byte sooner or later in a replay changes no key: Bun does, and with it Claude Code."""
    program = """
import ctypes, sys
libc = ctypes.CDLL(None)
out = ctypes.create_string_buffer(4096)
def drawn(length):
    libc.getrandom(out, length, 0)
    return out.raw[:length].hex()
if sys.argv[1:]:
    drawn(1), drawn(130), drawn(4096)
print(drawn(32), drawn(129), drawn(32), drawn(1))
"""
    plain, shifted = (shimmed(SYSTEM_PYTHON, "-c", program, *more).out.split() for more in ((), ("x",)))
    assert plain[:3] == shifted[:3]
    assert plain[0] != plain[2]
    assert plain[3] != shifted[3]  # one of its own size does


def test_no_place_for_the_bytes_is_an_error_and_no_crash():
    program = """
import ctypes, errno, platform
number = {"x86_64": 318, "aarch64": 278}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
for call in (lambda: libc.getrandom(None, 16, 0), lambda: libc.syscall(number, None, 16, 0)):
    print(call(), errno.errorcode[ctypes.get_errno()])
print(libc.getrandom(None, 0, 0))
"""
    assert python(program).out.splitlines() == ["-1 EFAULT", "-1 EFAULT", "0"]


def test_the_same_seed_makes_the_same_run_and_another_does_not():
    first, second = python(DRAWS).out, python(DRAWS).out
    assert first == second
    assert first
    other = python(DRAWS, seed=hashlib.sha256(b"other").digest()).out
    assert not set(first.split()[:9]) & set(other.split()[:9])


@pytest.mark.skipif(not installed("node"), reason="no Node here")
def test_node_draws_from_the_seed():
    script = "c=require('crypto');console.log(c.randomUUID(),c.randomBytes(8).toString('hex'),Date.now())"
    first = shimmed("node", "-e", script)
    assert first.out, first.err
    assert first.out == shimmed("node", "-e", script).out


def test_bash_and_openssl_draw_from_the_seed():
    script = "echo $RANDOM $RANDOM; openssl rand -hex 12; head -c 8 /dev/urandom | od -An -tx1; mktemp -u; date +%s.%N"
    first = shell(script)
    assert first.out == shell(script).out
    assert first.out.split()[-1] == f"{WALL_NS // 10**9}.{WALL_NS % 10**9:09}"


def test_a_stream_of_the_device_is_one_and_does_not_end():
    program = """
import ctypes, os, stat
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
held = len(os.listdir("/proc/self/fd"))
stream = ctypes.c_void_p(libc.fopen(b"/dev/urandom", b"r"))
room = ctypes.create_string_buffer(100000)
got = [libc.fread(room, 1, 100000, stream) for _ in range(3)]
status = os.fstat(libc.fileno(stream))
print(got, stat.S_ISCHR(status.st_mode), os.minor(status.st_rdev), len(set(room.raw)), libc.fclose(stream))
print(len(os.listdir("/proc/self/fd")) - held, room.raw[:8].hex())
"""
    first = python(program)
    assert first.out.startswith("[100000, 100000, 100000] True 9 256 0\n0 "), first.err
    assert python(program).out == first.out


KERNELS = "/proc/sys/kernel/random"


def test_the_kernels_own_identifiers_come_from_the_seed():
    """In every way of reading; the one of a boot stays the same, and is not this machine's."""
    script = f"""
cat {KERNELS}/uuid {KERNELS}/boot_id; read -r line <{KERNELS}/uuid; echo $line; echo "$(<{KERNELS}/boot_id)"
cd {KERNELS} && wc -c uuid | cut -c1-2"""
    first = shell(script)
    assert first.out == shell(script).out
    *ids, _length = first.out.split()
    assert all(str(uuid.UUID(each)) == each and uuid.UUID(each).version == 4 for each in ids), first.err
    assert ids[1] == ids[3] != Path(f"{KERNELS}/boot_id").read_text().strip()
    assert len(set(ids)) == 3
    assert shell(script, seed=bytes(32)).out != first.out


def test_programs_of_other_kinds_read_the_kernels_identifiers_too():
    program = f"""
import os
print(open("{KERNELS}/uuid").read(), open("{KERNELS}/uuid", "rb", buffering=0).read(37), os.open("{KERNELS}/uuid", os.O_RDONLY))
try: open("{KERNELS}/uuid", "r+")
except OSError as error: print(type(error).__name__)
"""
    first = python(program)
    assert first.out == python(program).out
    assert "Error" in first.out, first.err
    if installed("node"):
        script = f"console.log(require('fs').readFileSync('{KERNELS}/uuid', 'utf8'))"
        assert len(shimmed("node", "-e", script).out) == 38
        assert shimmed("node", "-e", script).out == shimmed("node", "-e", script).out


def test_a_thread_and_a_process_each_have_a_stream_of_their_own():
    program = """
import os, subprocess, sys, threading, uuid, concurrent.futures as cf
found = [None] * 6
def thread(i): found[i] = os.urandom(8).hex()
threads = [threading.Thread(target=thread, args=(i,)) for i in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
children = [subprocess.Popen([sys.executable, "-c", "import uuid; print(uuid.uuid4())"], stdout=-1) for _ in range(6)]
found += [c.communicate()[0].decode().strip() for c in children]
for _ in range(3):
    r, w = os.pipe()
    if os.fork() == 0: os.write(w, os.urandom(8)); os._exit(0)
    found.append(os.read(r, 8).hex()); os.wait()
for how in ("vfork", "system", "spawn"):
    if how == "system": found += [os.popen("head -c 8 /dev/urandom | od -An -tx1").read() for _ in range(2)]
    if how == "spawn":
        r, w = os.pipe()
        for _ in range(2):
            pid = os.posix_spawn("/usr/bin/head", ["head", "-c", "8", "/dev/urandom"], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, w, 1)])
            os.waitpid(pid, 0); found.append(os.read(r, 8).hex())
print("\\n".join(found), len(set(found)) == len(found))
"""
    first = python(program)
    assert first.out.endswith("True\n"), first.err + first.out
    assert [python(program).out for _ in range(3)] == [first.out] * 3


def test_a_million_draws_differ_and_cost_the_record_nothing():
    program = "import os; print(len({os.urandom(8) for _ in range(1000000)}))"
    result = python(program)
    assert result.out == "1000000\n"
    assert len(result.found) == 32, "its start, and no draw"


def test_an_environment_that_was_handed_on_names_nobody_else():
    script = (
        "env | grep -c HARK_; HARK_LINEAGE=00000001.00000000000000000000000000000000 env | grep HARK_; true"
    )
    assert shell(script).out == "0\n"


# --- the wall clock


def test_the_wall_clock_is_the_pages_in_every_way_of_asking():
    program = """
import time, datetime, ctypes
clocks = (time.CLOCK_REALTIME, time.CLOCK_TAI, 5)
print({time.time_ns(), *(time.clock_gettime_ns(c) for c in clocks)}, int(time.time()), datetime.datetime.now().timestamp())
libc = ctypes.CDLL(None); print(libc.time(None))
"""
    out = python(program, env={"TZ": "UTC"}).out.split("\n")
    assert out[0] == f"{{{WALL_NS}}} {WALL_NS // 10**9} {float(WALL_NS // 10**9)}"
    assert out[1] == str(WALL_NS // 10**9)


def test_the_monotonic_clock_runs_and_is_moved_by_the_page():
    program = (
        "import time; a = time.monotonic(); time.sleep(0.2); print(time.monotonic() - a > 0.19, a > 10**6)"
    )
    assert python(program, mono_ns=10**15).out == "True True\n"
    assert python(program).out == "True False\n"


LOOPS = {
    "sleep": "time.sleep(0.05)",
    "wait": "threading.Event().wait(0.05)",
    "select": "select.select([], [], [], 0.05)",
    "child": "subprocess.run(['sleep', '0.05'])",
    "nothing": "pass",
}


@pytest.mark.parametrize("way", LOOPS)
def test_a_loop_that_waits_for_the_clock_ends_when_recording(way: str) -> None:
    program = f"""
import select, subprocess, threading, time
end = time.time() + 0.5
while time.time() < end: {LOOPS[way]}
print(time.time() >= end)
"""
    result = python(program, recorded=None)
    assert result.out == "True\n", result.err
    assert len(result.found) >= 32
