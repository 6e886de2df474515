"""What verifying costs, against reading and hashing the same bytes once. Run: python -m
tests.bench.bench_verify

Whole processes, in the same run, the best of several: 100,000 events of 520 bytes, and the memory of
1,000,000 events. It also prints what starting `hark.verify` costs against starting Python. Exits with 1 if
a bar is missed.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

from hark.bundle.synth import synthesize
from hark.bundle.tree_head import SigningKey

RATIO_BAR = 9.5
MEMORY_BAR_MB = 60
START_BAR = 3.0
ROUNDS = 7

HASH = """
import sys
from blake3 import blake3
hasher = blake3()
with open(sys.argv[1], "rb") as file:
    while piece := file.read(1 << 20):
        hasher.update(piece)
"""
VERIFY = "import sys; from hark.verify import verify; sys.exit(verify(sys.argv[1]).exit_code)"


def best(program: str, *arguments: str) -> float:
    """Seconds that the whole process takes at best."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program, *arguments], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def peak_megabytes(program: str, *arguments: str) -> float:
    """Largest resident set of the process, and of each that it forks."""
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", program, *arguments], os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return max(usage.ru_maxrss, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        small, middle, large = (os.path.join(directory, name) for name in ("small", "middle", "large"))
        key = SigningKey(bytes(32))
        synthesize(small, 30, 520, key)
        synthesize(middle, 100_000, 520, key)
        hashing, verifying = best(HASH, middle), best(VERIFY, middle)
        nothing, starting = best("pass"), best(VERIFY, small)
        synthesize(large, 1_000_000, 40, key)
        memory = peak_megabytes(VERIFY, large)
    ratio, start = verifying / hashing, starting / nothing
    print(
        f"100,000 events of 520 bytes: hash {hashing * 1000:.0f} ms, verify {verifying * 1000:.0f} ms,",
        end=" ",
    )
    print(f"ratio {ratio:.1f} (bar {RATIO_BAR})")
    print(f"1,000,000 events: {memory:.0f} MB (bar {MEMORY_BAR_MB})")
    print(f"small bundle: {starting * 1000:.0f} ms, python -c pass {nothing * 1000:.0f} ms,", end=" ")
    print(f"ratio {start:.1f} (bar {START_BAR})")
    return int(ratio > RATIO_BAR or memory > MEMORY_BAR_MB or start > START_BAR)


if __name__ == "__main__":
    sys.exit(main())
