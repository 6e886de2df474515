"""The sources, in the order of the table, and what of them is known not to come out equal."""

from typing import Final

SOURCES: Final[dict[str, str]] = {
    "wall": "wall clock: time.time, Date.now, $EPOCHREALTIME, currentTimeMillis, time.Now, clock_gettime",
    "wall.ns": "time.time_ns, exact",
    "wall.now": "datetime.now, Instant.now",
    "wall.utcnow": "datetime.utcnow",
    "wall.localtime": "localtime, gmtime",
    "wall.strftime": "strftime, ctime, printf %()T",
    "wall.clock_gettime": "clock_gettime: the function of Python, a bare system call of C",
    "wall.date": "new Date, Date(), date(1)",
    "wall.intl": "Intl.DateTimeFormat",
    "wall.timeOrigin": "performance.timeOrigin",
    "sleep": "the wall clock after a sleep, which moved it",
    "monotonic": "monotonic, perf_counter, performance.now, hrtime, nanoTime",
    "chance": "random.random, Math.random, $RANDOM, math/rand/v2",
    "chance.instance": "random.Random()",
    "chance.secrets": "secrets",
    "chance.system": "SystemRandom",
    "chance.threads": "random in four threads, ThreadLocalRandom",
    "chance.srandom": "$SRANDOM",
    "chance.awk": "awk's srand()",
    "chance.shuf": "shuf",
    "chance.numpy": "numpy.random, default_rng",
    "chance.crypto": "node:crypto randomBytes, randomInt, randomFill",
    "chance.web": "globalThis.crypto",
    "chance.keys": "a key pair made by OpenSSL in Node",
    "chance.secure": "SecureRandom, NativePRNG",
    "chance.strong": "SecureRandom.getInstanceStrong",
    "chance.ssl": "ssl.RAND_bytes",
    "chance.openssl": "openssl rand",
    "chance.boundary": "the boundary of a multipart form",
    "chance.urandom": "os.urandom",
    "getrandom": "getrandom: os.getrandom, crypto/rand, a bare system call of C",
    "getrandom.libc": "getrandom by libc's function",
    "getrandom.handle": "getrandom looked up in libc.so.6 itself",
    "uuid1": "uuid1",
    "uuid4": "uuid4, crypto.randomUUID, UUID.randomUUID",
    "names": "names of temporary files: tempfile, mktemp, mkdtemp",
    "sqlite.random": "sqlite random(), randomblob()",
    "sqlite.now": "sqlite 'now'",
    "set order": "hash seed: order of a set, a map",
    "id": "id(), identityHashCode, an address",
    "pid": "process ids",
    "user": "uid, home, working directory",
    "host": "hostname",
    "folder": "order of a directory",
    "file times": "times of a file just made",
    "locale": "locale",
    "zone": "TZ",
    "terminal": "terminal size",
    "environment": "environment",
    "cpus": "CPU count",
    "/dev/random": "/dev/random",
    "/dev/urandom": "/dev/urandom",
    "proc uuid": "/proc/sys/kernel/random/uuid",
    "boot_id": "/proc/sys/kernel/random/boot_id",
    "machine-id": "/etc/machine-id",
}

BY_RULE: Final[dict[str, str]] = {
    "monotonic": "the monotonic clocks keep the machine's own rate, and no request or file is made of them",
    "file times": "a file's times are the file system's; a replay compares paths, modes and contents",
}
"""Sources that are recorded as what they are and not made equal, with the rule."""

UNSHIMMED: Final = "no shim runs in it, and the kernel gives the bytes of files without asking anybody"
"""Of a program that makes its own system calls."""
OWN_HEAP: Final = "which span of its heap Go takes depends on what its threads did before"
BY_THREAD: Final = (
    "Go draws from a state of each of its threads, all of which follow from the run's seed; "
    "after a goroutine has slept another thread may run it"
)
FILES: Final = ("/dev/random", "/dev/urandom", "proc uuid")
OWN_READS: Final = "Bun reads files by system calls of its own, which no interposed library sees"
OWN_WAKING: Final = "Bun wakes up every 100 ms; how often before a timer is due depends on the machine"
BY_GLIBC: Final = (
    "a static glibc's mkstemp draws from the monotonic clock, which keeps the machine's rate; musl's is equal"
)
BY_NANOTIME: Final = "the JVM seeds it with the monotonic clock, which keeps the machine's own rate"
NOT_COVERED: Final[dict[tuple[str, str], str]] = {
    ("Go", "id"): OWN_HEAP,
    ("static C", "names"): BY_GLIBC,
    **{("Go", source): BY_THREAD for source in ("chance", "names", "set order", "folder")},
    **{(runtime, source): UNSHIMMED for runtime in ("Go", "static C") for source in FILES},
    **{("Claude Code", source): OWN_READS for source in FILES},
    ("Claude Code", "sleep"): OWN_WAKING,
    **{("OpenJDK", source): BY_NANOTIME for source in ("chance", "set order")},
    (
        "",
        "getrandom.handle",
    ): "what asks the loader for libc's own function by name gets that, past the preload",
}
"""What is known to differ, by runtime ("" is all) and source, and why. Any other difference is a fault."""


def reason(runtime: str, source: str) -> str:
    """Why this is not covered; empty where it is promised to be."""
    return NOT_COVERED.get((runtime, source)) or NOT_COVERED.get(("", source), "")
