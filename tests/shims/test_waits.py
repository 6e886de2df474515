"""Waits under a clock that stands behind, or ahead of, the real one: they end when they should, and show it."""

import pytest

from hark.replay import clocklog
from tests.shims.rig import WALL_NS, installed, python, shimmed

pytestmark = pytest.mark.attack

FAR: dict[str, int] = {"behind": WALL_NS, "ahead": 2_000_000_000_000_000_000}
EITHER_WAY = pytest.mark.parametrize("where", FAR)

C_WAITS = """
import ctypes, threading, time
libc = ctypes.CDLL(None, use_errno=True)
class Spec(ctypes.Structure): _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
class Timer(ctypes.Structure): _fields_ = [("every", Spec), ("value", Spec)]
def at(seconds, clock=time.CLOCK_REALTIME):
    ns = time.clock_gettime_ns(clock) + int(seconds * 1e9)
    return ctypes.byref(Spec(ns // 10**9, ns % 10**9))
room = [ctypes.create_string_buffer(256) for _ in range(6)]
sem, mutex, other, cond, lock, attr = room
libc.sem_init(sem, 0, 0)
libc.pthread_mutex_init(mutex, None); libc.pthread_mutex_init(other, None); libc.pthread_mutex_lock(other)
libc.pthread_cond_init(cond, None); libc.pthread_rwlock_init(lock, None)
holder = threading.Thread(target=libc.pthread_rwlock_wrlock, args=(lock,)); holder.start(); holder.join()
libc.pthread_mutex_lock(mutex)
mono = ctypes.create_string_buffer(256)
libc.pthread_condattr_init(attr); libc.pthread_condattr_setclock(attr, 1); libc.pthread_cond_init(mono, attr)
word = ctypes.c_int(0)
def timer():
    fd = libc.timerfd_create(0, 0)
    due = Timer(Spec(0, 0), at(0.3)._obj)
    libc.timerfd_settime(fd, 1, ctypes.byref(due), None)
    import os; os.read(fd, 8); os.close(fd)
waits = {
    "sem_timedwait": lambda: libc.sem_timedwait(sem, at(0.3)),
    "sem_clockwait": lambda: libc.sem_clockwait(sem, 1, at(0.3, 1)),
    "cond": lambda: libc.pthread_cond_timedwait(cond, mutex, at(0.3)),
    "monotonic cond": lambda: libc.pthread_cond_timedwait(mono, mutex, at(0.3, 1)),
    "cond_clockwait": lambda: libc.pthread_cond_clockwait(cond, mutex, 0, at(0.3)),
    "mutex": lambda: libc.pthread_mutex_timedlock(other, at(0.3)),
    "read lock": lambda: libc.pthread_rwlock_timedrdlock(lock, at(0.3)),
    "write lock": lambda: libc.pthread_rwlock_timedwrlock(lock, at(0.3)),
    "clock_nanosleep": lambda: libc.clock_nanosleep(0, 1, at(0.3), None),
    "monotonic nanosleep": lambda: libc.clock_nanosleep(1, 1, at(0.3, 1), None),
    "futex": lambda: libc.syscall(202, ctypes.byref(word), 9 | 128 | 256, 0, at(0.3), None, -1),
    "monotonic futex": lambda: libc.syscall(202, ctypes.byref(word), 9 | 128, 0, at(0.3, 1), None, -1),
    "timerfd": timer,
}
for name, wait in waits.items():
    began, wall = time.perf_counter(), time.time()
    wait()
    passed, shown = time.perf_counter() - began, time.time() - wall
    print(name, "waited" if 0.28 < passed < 20 else passed, "shown" if shown > 0.28 or name == "timerfd" else shown)
"""


@EITHER_WAY
@pytest.mark.parametrize("kind", ["recording", "replay"])
def test_every_deadline_is_met(where: str, kind: str) -> None:
    if kind == "recording" and where == "ahead":
        pytest.skip("a recording's clock is never ahead")
    recorded = None if kind == "recording" else b""
    result = python(C_WAITS, wall_ns=FAR[where], recorded=recorded, mono_ns=5 * 10**12)
    lines = result.out.splitlines()
    assert len(lines) == 13, result.err
    assert [line for line in lines if not line.endswith("waited shown")] == []


@EITHER_WAY
def test_python_waits_with_timeouts_as_ever(where: str) -> None:
    program = """
import multiprocessing, queue, threading, time, subprocess, asyncio, concurrent.futures
def check(name, wait):
    began = time.perf_counter()
    wait()
    passed = time.perf_counter() - began
    print(name, 0.25 < passed < 20)
lock = multiprocessing.Lock(); lock.acquire()
check("multiprocessing", lambda: lock.acquire(timeout=0.3))
check("event", lambda: threading.Event().wait(0.3))
own = threading.Lock(); own.acquire()
check("lock", lambda: own.acquire(timeout=0.3))
condition = threading.Condition()
def wait():
    with condition: condition.wait(0.3)
check("condition", wait)
def get():
    try: queue.Queue().get(timeout=0.3)
    except queue.Empty: pass
check("queue", get)
def child():
    try: subprocess.run(["sleep", "60"], timeout=0.3)
    except subprocess.TimeoutExpired: pass
check("subprocess", child)
check("asyncio", lambda: asyncio.run(asyncio.sleep(0.3)))
"""
    result = python(program, wall_ns=FAR[where])
    assert result.out.split("\n") == [
        *(
            f"{name} True"
            for name in ("multiprocessing", "event", "lock", "condition", "queue", "subprocess", "asyncio")
        ),
        "",
    ], result.err


@EITHER_WAY
def test_a_loop_that_waits_for_the_clock_ends_in_a_replay_that_lost_its_log(where: str) -> None:
    program = """
import time
end = time.time() + 0.5
while time.time() < end: time.sleep(0.05)
end = time.time() + 0.2
while time.time() < end: pass
print("over")
"""
    result = python(program, wall_ns=FAR[where])
    assert result.out == "over\n", result.err


def test_a_replay_shows_what_the_recording_showed():
    program = """
import os, subprocess, sys, threading, time
def step(name): print(name, time.time_ns(), flush=True)
step("start")
time.sleep(0.1); step("slept")
def thread(i):
    time.sleep(0.05)
    if i: threads[i - 1].join()
    print("thread", i, time.time_ns(), flush=True)
threads = [threading.Thread(target=thread, args=(i,)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
subprocess.run(["date", "+%s.%N"]); step("child")
end = time.time() + 0.15
while time.time() < end: pass
step("span")
if os.fork() == 0: time.sleep(0.1); step("forked"); os._exit(0)
os.wait(); step("waited")
"""
    recording = python(program, recorded=None)
    records = clocklog.settle(recording.found)
    replay = python(program, recorded=records)
    lines = recording.out.splitlines()
    assert len(lines) == 11
    assert len({line.split()[-1] for line in lines}) > 8, lines
    assert replay.out.splitlines() == lines


TWO_WAITS = """
import select, socket, time
kept, other = socket.socketpair()
poll = select.epoll()
poll.register(kept, select.EPOLLIN)
print(time.time_ns())
for _ in range(2):
    poll.poll(0.2)
    print(time.time_ns())
"""


def test_a_wait_that_runs_out_in_a_replay_shows_no_time_beyond_what_comes_in_next():
    recording = python(TWO_WAITS, recorded=None)
    records = clocklog.settle(recording.found)
    began, first, second = map(int, recording.out.split())
    assert began < first < second
    replayed = [python(TWO_WAITS, recorded=records, next_ns=at) for at in (second + 1, second, first)]
    shown = [[int(word) for word in one.out.split()] for one in replayed]
    assert shown == [[began, first, second], [began, first, first], [began, began, began]]


def test_a_wait_that_ran_out_in_the_replay_alone_moves_no_clock():
    began, *others = map(int, python(TWO_WAITS, recorded=b"", next_ns=1 << 62).out.split())
    assert others == [began, began]
    moved = [int(word) for word in python(TWO_WAITS, recorded=b"").out.split()]  # nobody knows what is next
    assert moved[0] + 150_000_000 < moved[1] < moved[2] - 150_000_000


READS = "import time; print(*(time.time_ns() for _ in range(40)))"


def test_first_reads_show_what_they_showed_though_the_clock_is_ahead():
    """A program that started while an answer came in; by the replay all of that answer has."""
    lineage = clocklog.settle(python(READS, recorded=None).found)[:16]
    began, moved, ahead = WALL_NS, WALL_NS + 5_000_000_000, WALL_NS + 60_000_000_000
    started = clocklog.RECORD.pack(lineage, 1 << 56, began)
    log = started + clocklog.RECORD.pack(lineage, 6 << 56 | 30, moved)
    shown = [int(word) for word in python(READS, recorded=log, wall_ns=ahead).out.split()]
    assert sorted(set(shown)) == [began, moved]
    assert shown == sorted(shown)
    assert set(python(READS, recorded=b"", wall_ns=ahead).out.split()) == {str(ahead)}, "the control: no log"


@pytest.mark.skipif(not installed("java"), reason="no JVM here")
@EITHER_WAY
def test_a_jvm_waits_until_a_time(where: str) -> None:
    program = """
import java.util.concurrent.locks.*;
public class Park {
  public static void main(String[] a) throws Exception {
    long began = System.nanoTime(), end = System.currentTimeMillis() + 400;
    while (System.currentTimeMillis() < end) LockSupport.parkUntil(end);
    long passed = (System.nanoTime() - began) / 1000000;
    System.out.println(passed > 350 && passed < 20000);
  }
}
"""
    result = shimmed(
        "/bin/sh", "-c", f"cat > Park.java <<'E'\n{program}\nE\njava Park.java", wall_ns=FAR[where]
    )
    assert result.out == "true\n", result.err
