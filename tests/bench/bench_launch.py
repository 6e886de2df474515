"""How long the boundary takes: from launch() to the agent's first instruction, alone and twenty at once.

Run as root or as an ordinary user: python tests/bench/bench_launch.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 15
AT_ONCE = 20

ONE = """
import sys, time
started = time.perf_counter()
sys.path.insert(0, {root!r})
from launcher.plan import Access, Grant, Plan
from launcher.launch import launch
from launcher.system import system_grants
imported = time.perf_counter()
if {preload}:
    import launcher.build
ready = time.perf_counter()
plan = Plan(argv=("/bin/true",), executable="/bin/true", workdir={folder!r}, env={{}},
            grants=(*system_grants(), Grant({folder!r}, Access.WRITE, "project")), home="/home/agent")
with launch(plan) as boundary:
    boundary.sockets
    network = time.perf_counter()
    boundary.start()
    executed = time.perf_counter()
    assert boundary.wait().code == 0
ended = time.perf_counter()
spans = ((started, imported), (imported, ready), (ready, network), (network, executed), (ready, executed))
print(*(1000 * (b - a) for a, b in (*spans, (executed, ended))))
"""
NAMES = (
    "import of the handle",
    "import of the child's modules",
    "networks",
    "the rest to exec",
    "launch to exec",
    "end",
)


def once(folder: str, *, preload: bool) -> list[float]:
    """One run in a fresh interpreter; milliseconds by `NAMES`."""
    code = ONE.format(root=str(ROOT), folder=folder, preload=preload)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Print medians."""
    with tempfile.TemporaryDirectory() as folder:
        for preload in (True, False):
            rows = [once(folder, preload=preload) for _ in range(ROUNDS)]
            title = (
                "modules imported before launch"
                if preload
                else "modules imported by the child (as hark does)"
            )
            print(f"{title}, median and worst of {ROUNDS}, ms")
            for name, column in zip(NAMES, zip(*rows, strict=True), strict=True):
                print(f"  {name:<30} {statistics.median(column):7.1f} {max(column):7.1f}")
        code = ONE.format(root=str(ROOT), folder=folder, preload=False)
        started = time.perf_counter()
        processes = [
            subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) for _ in range(AT_ONCE)
        ]
        good = sum(process.wait() == 0 for process in processes)
        seconds = time.perf_counter() - started
        print(f"{AT_ONCE} at once: {good} good in {seconds:.2f} s on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
