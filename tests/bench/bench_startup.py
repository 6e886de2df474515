"""How long `hark version` and `hark verify` of a small bundle take, as multiples of `python -c pass`.

    python tests/bench/bench_startup.py [-rounds N]

Each round runs all three once, in turn, with this interpreter and without a bytecode cache being written by
the measured runs; medians are compared. The budget is 3.0 for both. Nothing is asserted: a busy machine is no
fault of the program's. Exit code 1 tells a script that a ratio was over the budget.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUDGET = 3.0
ROUNDS = 20
EVENTS = "50"
ENTRY = "import sys; from hark.cli.main import entry; sys.exit(entry())"


def main():
    rounds = int(sys.argv[sys.argv.index("-rounds") + 1]) if "-rounds" in sys.argv else ROUNDS
    root = str(Path(__file__).resolve().parents[2])
    env = {**os.environ, "PYTHONPATH": root}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        signed, unsigned, key = (os.path.join(folder, name) for name in ("s.hark", "u.hark", "key"))
        for words in (
            ["keygen", "-out", key],
            ["synth", "-o", signed, "-events", EVENTS, "-key", key],
            ["synth", "-o", unsigned, "-events", EVENTS],
        ):
            run([sys.executable, "-c", ENTRY, *words], env)
        programs = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "hark version": [sys.executable, "-c", ENTRY, "version"],
            "hark verify (unsigned)": [sys.executable, "-c", ENTRY, "verify", unsigned],
            "hark verify (signed)": [sys.executable, "-c", ENTRY, "verify", signed],
        }
        times = {name: [] for name in programs}
        for _ in range(rounds + 1):  # the first round warms the caches and is dropped
            for name, words in programs.items():
                times[name].append(run(words, env))
    medians = {name: statistics.median(taken[1:]) for name, taken in times.items()}
    base = medians["python -c pass"]
    for name, median in medians.items():
        print(f"{name:<24} {median * 1000:7.1f} ms  {median / base:5.2f}x")
    return int(max(medians.values()) / base > BUDGET)


def run(words, env):
    start = time.perf_counter()
    subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
