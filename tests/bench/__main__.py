"""Writes docs/benchmarks.md from one run of the benchmarks: `make bench`.

Each figure stands beside a baseline that was taken in the same run on the same machine, since a number of
milliseconds alone says more about the machine than about hark.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.bench import bench_compare, bench_replay, bench_shim, bench_users, bench_verify
from tests.bench.figures import HEAD, Figure

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
REQUESTS: Final = """\
The mediator with a policy, a broker that holds a secret, the scan of both directions and the bundle on disk,
against plain mitmdump as a reverse proxy (it keeps event streams until they end) and against no proxy.
Client, proxy and server are processes of their own; compared is what each adds to the direct way.
Alone: `python -m tests.bench.bench_compare`."""
USERS: Final = """\
Whole commands from a server on this machine, so that no network hides what hark adds. The time to start the
boundary and to load TLS and HTTP, once a run, is in each. Alone: `python -m tests.bench.bench_users`."""
REPLAYING: Final = """\
A small Python agent that talks to a model over TLS: bare, under `hark run`, and replayed from that record.
Whole commands, the verdict included. Alone: `python -m tests.bench.bench_replay`; what a start consists of:
`python -m tests.bench.bench_start`."""
CALLING: Final = """\
A call of an agent's, in Python inside the same boundary: by the recorded clock and the seed, and by the
machine's own. Alone: `python -m tests.bench.bench_shim`."""
CHECKING: Final = "Alone: `python -m tests.bench.bench_verify`."
SECTIONS: Final[tuple[tuple[str, str, Callable[[], Iterator[Figure]]], ...]] = (
    ("What a request costs", REQUESTS, bench_compare.figures),
    ("What a user feels", USERS, bench_users.figures),
    ("What a replay costs", REPLAYING, bench_replay.figures),
    ("What a clock and randomness of its own cost an agent", CALLING, bench_shim.figures),
    ("What checking costs", CHECKING, bench_verify.figures),
)
INTRODUCTION: Final = """# Benchmarks

Written by `make bench` in one run; every figure has its baseline of the same run beside it. A bar is what the
project asks of itself. Nothing here is asserted by a test, since a busy machine is no defect.
"""


def main() -> None:
    """Measure everything and write the page."""
    lines = [INTRODUCTION, f"This run: {_machine()}.", ""]
    for title, words, figures in SECTIONS:
        lines += [f"## {title}", "", words, "", HEAD]
        print(f"== {title}\n{HEAD}")
        for figure in figures():
            print(figure.row(), flush=True)
            lines.append(figure.row())
        lines.append("")
    PAGE.write_text("\n".join(lines).rstrip() + "\n")
    print(f"wrote {PAGE.relative_to(Path.cwd())}")


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    release = platform.release().partition("-")[0]
    return f"{os.cpu_count()} cores, {memory} GiB, Linux {release}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
