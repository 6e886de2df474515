# ruff: noqa: DTZ003, DTZ005, E501, PLW0108
"""Prints what CPython 3.8 or newer finds in each source, one `name TAB value` a line. Run by what is recorded."""

import ctypes
import locale
import os
import random
import secrets
import socket
import sqlite3
import ssl
import sys
import tempfile
import threading
import time
import uuid
from datetime import datetime

asked = sys.argv[1:]


def tell(name, value):
    """One source; an error is told as what it is, and never as a value."""
    if asked and name not in asked:
        return
    try:
        found = repr(value()).replace("\n", " ").replace("\t", " ")
    except Exception as error:
        found = "ERROR " + repr(error)
    print(name + "\t" + found, flush=True)


def read(path, count=64):
    with open(path, "rb", buffering=0) as file:
        return file.read(count)


def slept():
    before = time.time()
    time.sleep(1.05)
    after = time.time()
    return 1.0 <= after - before < 30, after


def listed():
    """The names of a folder in the order in which the file system gives them."""
    os.makedirs("many")
    for number in range(60):
        open(f"many/{secrets.token_hex(4)}-{number}", "w").close()
    return [name.rpartition("-")[2] for name in os.listdir("many")]


def named():
    return os.path.basename(tempfile.mktemp()), os.path.basename(tempfile.mkdtemp(dir="."))


def numpy():
    import numpy

    return numpy.random.random(), int(numpy.random.default_rng().integers(1 << 60))


def threaded():
    found = []
    workers = [threading.Thread(target=lambda: found.append(random.random())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(found)


def sql(words):
    return lambda: sqlite3.connect(":memory:").execute(words).fetchone()


def file_times():
    open("made", "w").close()
    return os.stat("made").st_mtime_ns


def generated(library):
    buffer = ctypes.create_string_buffer(16)
    ctypes.CDLL(library).getrandom(buffer, 16, 0)
    return buffer.raw


tell("wall", lambda: time.time())
tell("wall.ns", lambda: time.time_ns())
tell("wall.clock_gettime", lambda: time.clock_gettime(time.CLOCK_REALTIME))
tell("wall.now", lambda: datetime.now())
tell("wall.utcnow", lambda: datetime.utcnow())
tell("wall.localtime", lambda: (tuple(time.localtime()), tuple(time.gmtime())))
tell("wall.strftime", lambda: (time.strftime("%F %T"), time.ctime()))
tell("monotonic", lambda: (time.monotonic_ns(), time.perf_counter_ns()))
tell("sleep", slept)
tell("chance", lambda: random.random())
tell("chance.instance", lambda: random.Random().random())
tell("chance.secrets", lambda: secrets.token_hex())
tell("chance.system", lambda: random.SystemRandom().random())
tell("uuid1", lambda: uuid.uuid1())
tell("uuid4", lambda: uuid.uuid4())
tell("chance.urandom", lambda: os.urandom(16))
tell("getrandom", lambda: os.getrandom(16))
tell("getrandom.libc", lambda: generated(None))
tell("getrandom.handle", lambda: generated("libc.so.6"))
tell("chance.ssl", lambda: ssl.RAND_bytes(16))
tell("chance.threads", threaded)
tell("chance.numpy", numpy)
tell("sqlite.random", sql("select random(), hex(randomblob(8))"))
tell("sqlite.now", sql("select datetime('now'), julianday('now')"))
tell("names", named)
tell("set order", lambda: (list({str(n) for n in range(40)}), hash("a")))
tell("id", lambda: (id(object()), id([])))
tell("pid", lambda: (os.getpid(), os.getppid()))
tell("user", lambda: (os.getuid(), os.getgid(), os.path.expanduser("~"), os.getcwd()))
tell("host", lambda: socket.gethostname())
tell("folder", listed)
tell("file times", file_times)
tell("locale", lambda: (locale.setlocale(locale.LC_ALL, ""), locale.localeconv()["decimal_point"]))
tell("zone", lambda: (time.tzname, time.timezone))
tell("terminal", lambda: tuple(__import__("shutil").get_terminal_size()))
tell("environment", lambda: sorted(os.environ.items()))
tell("cpus", lambda: (os.cpu_count(), len(os.sched_getaffinity(0)), os.sysconf("SC_NPROCESSORS_ONLN")))
tell("/dev/random", lambda: read("/dev/random"))
tell("/dev/urandom", lambda: read("/dev/urandom"))
tell("proc uuid", lambda: read("/proc/sys/kernel/random/uuid"))
tell("boot_id", lambda: read("/proc/sys/kernel/random/boot_id"))
tell("machine-id", lambda: read("/etc/machine-id"))
