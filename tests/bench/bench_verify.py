"""What verifying costs, against reading and hashing the same bytes once. Run: python -m
tests.bench.bench_verify

Whole processes, in the same run, the best of several: 100,000 events of 520 bytes, and the memory of
1,000,000 events. It also prints what starting `hark.verify` costs against starting Python: processor time, in
turns, since that says the same on a busy machine. Bytecode is kept, as an installed hark has it. Asserts
nothing.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from hark.bundle.synth import synthesize
from hark.bundle.tree_head import SigningKey
from tests.bench import apart
from tests.bench.figures import HEAD, Figure

RATIO_BAR = 9.5
MEMORY_BAR_MB = 60
START_BAR = 3.0
CHECKPOINT_BAR = 1.25
ROUNDS = 7
STARTS = 40
EVENTS = 100_000
SIZE = 520

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


def starts(*programs: str, argument: str) -> list[float]:
    """Processor seconds that each process takes at best, in turns."""
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(STARTS):
        for program, taken in zip(programs, times, strict=True):
            taken.append(apart.taken([sys.executable, "-c", program, argument]).processor)
    return [min(taken) for taken in times]


def figures() -> Iterator[Figure]:
    """Measure; yields each row when it is known."""
    with tempfile.TemporaryDirectory() as directory:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(directory, "bytecode")
        names = ("small", "middle", "bare", "large")
        small, middle, bare, large = (os.path.join(directory, name) for name in names)
        key = SigningKey(bytes(32))
        synthesize(small, 30, 520, key)
        synthesize(middle, EVENTS, SIZE, key)
        hashing, verifying = best(HASH, middle), best(VERIFY, middle)
        yield Figure(
            f"verify {EVENTS:,} events of {SIZE} bytes",
            f"hash the file once {hashing * 1000:.0f} ms",
            f"{verifying * 1000:.0f} ms",
            verifying / hashing,
            str(RATIO_BAR),
        )
        synthesize(bare, EVENTS, SIZE)
        without = best(VERIFY, bare)
        yield Figure(
            f"verify {EVENTS:,} events with the run's SHA-256 checkpoint and signatures",
            f"unsigned, and so without them {without * 1000:.0f} ms",
            f"{verifying * 1000:.0f} ms",
            verifying / without,
            str(CHECKPOINT_BAR),
        )
        plain = os.path.getsize(middle) // EVENTS * 1000
        what = f"bytes on disk of 1,000 events of {SIZE} bytes"
        yield Figure(what, f"{SIZE * 1000:,}", f"{plain:,}", plain / SIZE / 1000)
        nothing, starting = starts("pass", VERIFY, argument=small)
        yield Figure(
            "start `hark.verify` on a small bundle",
            f"python -c pass {nothing * 1000:.0f} ms of processor time",
            f"{starting * 1000:.0f} ms",
            starting / nothing,
            str(START_BAR),
        )
        synthesize(large, 1_000_000, 40, key)
        memory = apart.taken([sys.executable, "-c", VERIFY, large]).peak_mb
        yield Figure("memory to verify 1,000,000 events", "", f"{memory:.0f} MB", None, f"{MEMORY_BAR_MB} MB")


def main() -> None:
    """Print the table."""
    print(HEAD)
    for figure in figures():
        print(figure.row(), flush=True)


if __name__ == "__main__":
    main()
