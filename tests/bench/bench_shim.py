"""What a recorded clock and seeded randomness cost a call, beside the machine's own.

    python -m tests.bench.bench_shim

The same Python inside the same boundary, as in a run (the preload and Python's own shim), with the preload
alone, and with neither, by turns; the medians of rounds, in nanoseconds a call, and what a million draws add
to the clock's log. The bar: at most 3 us over bare.
"""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence

from tests.bench.figures import Figure
from tests.shims.rig import python

ROUNDS = 5
BAR_NS = 3000
BARRED = ("time.time()", "random.random()")
CALLS = {
    "time.time()": "time.time",
    "time.monotonic()": "time.monotonic",
    "random.random()": "random.random",
    "os.urandom(16)": "lambda: os.urandom(16)",
    "uuid.uuid4()": "uuid.uuid4",
    "read of 1 byte": "lambda: os.read(zero, 1)",
}
PROGRAM = f"""
import json, os, random, time, uuid
zero = os.open("/dev/zero", os.O_RDONLY)
found = {{}}
for name, call in {{ {", ".join(f"{name!r}: {call}" for name, call in CALLS.items())} }}.items():
    began = time.perf_counter_ns()
    for _ in range(50_000): call()
    found[name] = (time.perf_counter_ns() - began) / 50_000
print(json.dumps(found))
"""
DRAWS = "import os\nfor _ in range(1_000_000): os.urandom(16)"


def once(*, shim: bool, languages: bool = False) -> dict[str, float]:
    """Nanoseconds a call."""
    env = None if shim else {"LD_PRELOAD": ""}
    result = python(PROGRAM, recorded=None, env=env, languages=languages)
    answer: dict[str, float] = json.loads(result.out)
    return answer


def measured() -> dict[str, tuple[float, float, float]]:
    """Of each call the nanoseconds in a run, with the preload alone, and bare."""
    rounds = [(once(shim=True, languages=True), once(shim=True), once(shim=False)) for _ in range(ROUNDS)]
    ways = tuple(zip(*rounds, strict=True))
    return {name: _medians(name, ways) for name in CALLS}


def _medians(name: str, ways: Sequence[Sequence[Mapping[str, float]]]) -> tuple[float, float, float]:
    run, preload, bare = (statistics.median(one[name] for one in way) for way in ways)
    return run, preload, bare


def figures() -> Iterator[Figure]:
    """Measure; yields each row."""
    for name, (run, _, bare) in measured().items():
        over = f"`{name}`, {(run - bare) / 1000:+.2f} µs over bare"
        bar = f"+{BAR_NS / 1000:g} µs" if name in BARRED else ""
        yield Figure(over, f"bare {bare:.0f} ns", f"{run:.0f} ns", run / bare, bar)


def main() -> None:
    """Measure and print."""
    print(f"{'call':<20} {'in a run':>8} {'preload':>8} {'bare':>8} {'over':>8}  ns")
    for name, (run, preload, bare) in measured().items():
        print(f"{name:<20} {run:8.0f} {preload:8.0f} {bare:8.0f} {run - bare:8.0f}")
    print(f"a million draws: {len(python(DRAWS, recorded=None).found)} bytes of log")


if __name__ == "__main__":
    main()
