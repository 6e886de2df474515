"""Where the time of a short command goes: its phases, as the one process sees them that all else waits for.

    python -m tests.bench.bench_start [-rounds N]

`hark run -- /bin/true`, and a replay of one model call. Of hark's own process, clock and processor time are
read where a phase ends. Prints medians; asserts nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.bench.bench_replay import _CALLS, HOST, _Bench, _routes
from tests.bench.figures import median
from tests.fakes.upstream import serving

ROUNDS: Final = 15
PHASES: Final = (
    "interpreter and command line",
    "loading and preparing, until the boundary is begun",
    "recording what is granted, until the agent is let go",
    "until it is executed; the mediator is loaded meanwhile",
    "the agent, until nothing of it is left",
    "sealing, comparing, leaving",
)
_MARKED: Final = """
import json, os, sys, time
marks = []
def mark():
    marks.append((time.time(), time.process_time()))
from hark.cli.main import entry
mark()
import importlib.abc, importlib.machinery
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "launcher.launch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module
        def marked(module):
            execute(module)
            around(module)
        spec.loader.exec_module = marked
        return spec
def around(module):
    launch, start, wait = module.launch, module.Boundary.start, module.Boundary.wait
    def launched(*arguments):
        mark()
        return launch(*arguments)
    def started(*arguments):
        mark()
        start(*arguments)
        mark()
    def waited(self):
        ended = wait(self)
        mark()
        return ended
    module.launch, module.Boundary.start, module.Boundary.wait = launched, started, waited
sys.meta_path.insert(0, Finder())
leave, me = os._exit, os.getpid()
def left(code):
    if os.getpid() == me:
        mark()
        with open(os.environ["MARKS"], "w") as file:
            json.dump(marks, file)
    leave(code)
os._exit = left
sys.exit(entry())
"""


def phases(bench: _Bench, folder: Path, words: list[str]) -> list[tuple[float, float]]:
    """Milliseconds, and those of them that hark's own process computed, of each phase of one command."""
    marks = folder / "marks"
    began = time.time()
    subprocess.run(
        [sys.executable, "-c", _MARKED, *words],
        cwd=folder / "project",
        env=bench.env | {"MARKS": str(marks)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    taken = [(began, 0.0), *json.loads(marks.read_text())]
    return [
        (1000 * (end - start), 1000 * (used - before)) for (start, before), (end, used) in pairwise(taken)
    ]


def table(name: str, rounds: list[list[tuple[float, float]]]) -> None:
    """Print the medians of one command's phases, and of the whole."""
    print(f"{name}, medians of {len(rounds)}: ms, of which hark's own process computes")
    for phase, column in zip(PHASES, zip(*rounds, strict=True), strict=True):
        wall, used = (median(values) for values in zip(*column, strict=True))
        print(f"  {phase:<56} {wall:6.0f} {used:6.0f}")
    whole = [tuple(map(sum, zip(*one, strict=True))) for one in rounds]
    wall, used = (median(values) for values in zip(*whole, strict=True))
    print(f"  {'all':<56} {wall:6.0f} {used:6.0f}")


def main() -> None:
    """Print both tables."""
    count = int(sys.argv[sys.argv.index("-rounds") + 1]) if "-rounds" in sys.argv else ROUNDS
    with tempfile.TemporaryDirectory() as name, serving(HOST) as server:
        folder = Path(name)
        _routes(server)
        bench = _Bench(folder, server)
        bench.rounds(_CALLS, ("1", "/fast"), 1)
        out, again = folder / "true.hark", folder / "again.hark"
        commands = {
            "hark run -- /bin/true": (out, ["run", "-o", str(out), "--", "/bin/true"]),
            "hark replay, one call": (again, ["replay", "-o", str(again), str(folder / "run.hark")]),
        }
        found: dict[str, list[list[tuple[float, float]]]] = {title: [] for title in commands}
        for _ in range(count):
            for title, (made, words) in commands.items():
                made.unlink(missing_ok=True)
                found[title].append(phases(bench, folder, words))
    for title, rounds in found.items():
        table(title, rounds)


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
