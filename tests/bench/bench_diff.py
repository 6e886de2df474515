"""What `hark diff` takes for two large bundles, against reading and checking both once.

    python -m tests.bench.bench_diff [EVENTS]

Both commands are whole processes. Prints; asserts nothing.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.header import Header
from tests.bench import apart
from tests.bench.apart import Taken
from tests.bench.figures import HEAD, Figure
from tests.support.rerecorded import Told, write

EVENTS = 100_000
HEADERS = ((b"content-type", b"application/json"),)


def told(count: int, other_every: int) -> Iterator[Told]:
    """A run of so many events: exchanges with an answer in two pieces. Some of them are told otherwise."""
    yield 0, RunStart("01J8X00000000000000000TEST", argv=("agent",))
    for number in range(1, count // 4):
        word = "other" if other_every and number % other_every == 0 else "same"
        body = b'{"model":"m","messages":[{"role":"user","content":"turn %d"}]}' % number
        yield (
            number,
            ev.LlmRequest("api.example", "POST", "/v1", body=body, exchange=number, raw_headers=HEADERS),
        )
        yield number, ev.LlmResponseChunk(0, b'{"text":"', exchange=number)
        yield number, ev.LlmResponseChunk(1, b'%s %d"}' % (word.encode(), number), exchange=number)
        yield number, ev.LlmResponseEnd(200, {}, 2, exchange=number, raw_headers=HEADERS)
    yield count, RunEnd(reason="exit")


def taken(*words: str) -> Taken:
    """What one command takes."""
    return apart.taken([sys.executable, "-m", "hark.cli.main", *words], exits=(0, 1))


def figures(count: int = EVENTS) -> Iterator[Figure]:
    """Measure; yields each row when it is known."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("a", "b", "c")]
        for path, every in zip(paths, (0, 100, 2), strict=True):
            write(path, told(count, every), Header("01J8X00000000000000000TEST"))
        read = 2 * taken("verify", paths[0]).seconds
        walked = 2 * taken("inspect", "-kind", "RunEnd", paths[0]).seconds
        peak = 0.0
        for what, other in (("equal", 0), ("1 action in 100 differs", 1), ("every second differs", 2)):
            used = taken("diff", paths[0], paths[other])
            spent, peak = used.seconds, max(peak, used.peak_mb)
            title = f"two bundles of {count} events, {what}"
            yield Figure(f"{title}; verify both", f"{read:.2f} s", f"{spent:.2f} s", spent / read)
            yield Figure(f"{title}; inspect both", f"{walked:.2f} s", f"{spent:.2f} s", spent / walked)
        yield Figure("the most memory of these comparisons", "", f"{peak:.0f} MiB")


def main() -> None:
    """Print the table."""
    print(HEAD)
    for figure in figures(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS):
        print(figure.row(), flush=True)


if __name__ == "__main__":
    main()
