"""What hark's mediator adds to a request against what plain mitmdump adds, and against nothing between.

    python -m tests.bench.bench_compare [-quick]

Rounds alternate between the three ways, so that a busy moment of the machine falls on all of them. `-quick`
measures a tenth. Prints; asserts nothing.
"""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from multiprocessing.pool import Pool

from tests.bench import peers
from tests.bench.figures import HEAD, Figure, median, percentile
from tests.bench.peers import Place
from tests.bench.ways import NAMES, Ways, ways

ROUNDS = 5
POSTS = 400
CONNECTIONS = 60
STREAMS = 100
ALONE = 20
EVENTS = 50
UP = 300 << 20
DOWN = 1 << 30


def figures(*, quick: bool = False) -> Iterator[Figure]:
    """Measure; yields each row when it is known."""
    share = 10 if quick else 1
    rounds = 2 if quick else ROUNDS
    spawn = multiprocessing.get_context("spawn")
    with peers.server() as server, ways(server) as between, spawn.Pool(1) as pool:
        places = between.places
        taken = _each(pool, places, rounds, peers.posts, POSTS // share)
        yield from _added("POST of 2 kB, kept alive", taken)
        taken = _each(pool, places, rounds, peers.fresh, CONNECTIONS // share)
        yield from _added("new TLS connection and GET", taken)
        yield from _rate(pool, places, rounds, POSTS // share)
        yield from _streams(pool, places, STREAMS // share)
        yield from _volume(pool, between, share)


def _each(
    pool: Pool, places: dict[str, Place], rounds: int, load: Callable[..., list[float]], count: int
) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(rounds):
        for name, place in places.items():
            taken[name] += pool.apply(load, (place, count))
    return taken


def _added(what: str, taken: dict[str, list[float]]) -> Iterator[Figure]:
    for word, part in (("p50", 0.5), ("p99", 0.99)):
        direct, dumped, recorded = (percentile(taken[name], part) for name in NAMES)
        yield Figure(
            f"{what}: added {word}, over {direct:.2f} ms direct",
            f"mitmdump {dumped - direct:.2f} ms",
            f"{recorded - direct:.2f} ms",
            (recorded - direct) / (dumped - direct),
            "0.75, aim 0.6" if what.startswith("POST") and word == "p50" else "",
        )


def _rate(pool: Pool, places: dict[str, Place], rounds: int, count: int) -> Iterator[Figure]:
    rates: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(rounds):
        for name, place in places.items():
            rates[name].append(pool.apply(peers.parallel, (place, 8, count // 4)))
    direct, dumped, recorded = (median(rates[name]) for name in NAMES)
    yield Figure(
        f"8 connections: requests a second, {direct:.0f} direct",
        f"mitmdump {dumped:.0f}",
        f"{recorded:.0f}",
        recorded / dumped,
    )


def _streams(pool: Pool, places: dict[str, Place], count: int) -> Iterator[Figure]:
    first: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(ALONE):
        for name, place in places.items():
            first[name] += pool.apply(peers.streams, (place, 1, 2))[1]
    direct, dumped, recorded = (median(first[name]) for name in NAMES)
    yield Figure(
        f"one event stream: age of its first event, median of {ALONE}, {direct:.2f} ms direct",
        f"mitmdump {dumped:.2f} ms",
        f"{recorded:.2f} ms",
        None,
        "5 ms",
    )
    many = {name: pool.apply(peers.streams, (place, count, EVENTS)) for name, place in places.items()}
    direct, dumped, recorded = (many[name][0] for name in NAMES)
    yield Figure(
        f"{count} streams of {EVENTS} events at once, {direct:.2f} s direct",
        f"mitmdump {dumped:.2f} s",
        f"{recorded:.2f} s",
        recorded / dumped,
    )
    direct, dumped, recorded = (percentile(many[name][2], 0.99) for name in NAMES)
    yield Figure(
        f"the same: age of an event, p99, {direct:.1f} ms direct",
        f"mitmdump {dumped:.1f} ms",
        f"{recorded:.1f} ms",
        recorded / dumped,
    )


def _volume(pool: Pool, between: Ways, share: int) -> Iterator[Figure]:
    for what, load, size in (("up", peers.upload, UP // share), ("down", peers.download, DOWN // share)):
        before = between.peak()
        direct, dumped, recorded = (pool.apply(load, (between.places[name], size)) for name in NAMES)
        yield Figure(
            f"{size >> 20} MiB {what}: MiB a second, {direct:.0f} direct",
            f"mitmdump {dumped:.0f}",
            f"{recorded:.0f}, every byte on disk",
            recorded / dumped,
        )
        grown = (between.peak() - before) >> 20
        memory = f"the same: growth of the mediator's memory, over {before >> 20} MiB"
        yield Figure(memory, "", f"{grown} MiB", None, "64 MiB")


def main() -> None:
    """Print the table."""
    print(HEAD)
    for figure in figures(quick="-quick" in sys.argv):
        print(figure.row(), flush=True)


if __name__ == "__main__":
    main()
