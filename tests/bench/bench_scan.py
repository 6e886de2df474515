"""What it costs to look for credentials: megabytes a second, beside copying the same bytes, in the same run.

Run by hand: `python -m tests.bench.bench_scan`. Prints numbers; asserts nothing.
"""

import base64
import json
import os
import random
import string
import time
import timeit
from collections.abc import Callable

from mediator import anyof
from mediator.encodings import Pair, needles_of
from mediator.placeholders import placeholder_for
from mediator.scan import StreamSwap, Table

SIZE = 32 << 20
PIECE = 1 << 16
ROUNDS = 3
BODY = 2000


def main() -> None:
    """Measure each kind of text with one, three and ten credentials, then a short body."""
    anyof.load()  # as it is once a run has begun
    for name, text in _texts().items():
        base = _speed(text, lambda piece: bytes(bytearray(piece)))
        print(f"{name}: copied at {base:.0f} MB/s")
        for count in (1, 3, 10):
            pairs = _pairs(count)
            table = Table(pairs)
            bare = [needle.text for pair in pairs for needle in needles_of(pair)]
            swap = StreamSwap(lambda table=table: table)  # type: ignore[misc]
            plain = _speed(text, lambda piece, bare=bare: [needle in piece for needle in bare])  # type: ignore[misc]
            whole = _speed(text, swap.feed)
            print(
                f"  {count:2} secrets: {whole:5.0f} MB/s, {base / whole:4.0f} times a copy; "
                f"needles alone, as they stand: {plain:5.0f} MB/s"
            )
    body = b"x" * BODY
    for count in (1, 5, 20):
        pairs = _pairs(count)
        table = Table(pairs)
        bare = [needle.text for pair in pairs for needle in needles_of(pair)]
        single = _micros(lambda bare=bare: [needle in body for needle in bare])  # type: ignore[misc]
        once = _micros(lambda table=table: table.has(body))  # type: ignore[misc]
        print(f"a body of {BODY} bytes, {count:2} secrets: {once:.1f} us, one after another {single:.1f} us")


def _texts() -> dict[str, bytes]:
    rng = random.Random(1)
    rows = [
        {"id": n, "text": "the quick brown\nfox", "n": rng.random(), "q": 'a "b" c'} for n in range(300_000)
    ]
    event = b'data: {"type":"delta","delta":{"text":" quick"}}\n\n'
    return {
        "JSON": json.dumps(rows).encode()[:SIZE],
        "events": event * (SIZE // len(event)),
        "random bytes": os.urandom(SIZE),
        "base64 in lines": base64.encodebytes(os.urandom(SIZE))[:SIZE],
        "HTML": (b"<p class=a>text &amp; more, 100% of it</p>\n" * (SIZE // 40))[:SIZE],
    }


def _pairs(count: int) -> list[Pair]:
    rng = random.Random(2)
    values = [
        "sk-ant-api03-" + "".join(rng.choices(string.ascii_letters + string.digits, k=90))
        for _ in range(count)
    ]
    return [Pair(f"K{n}", value.encode(), placeholder_for(value).encode()) for n, value in enumerate(values)]


def _micros(work: Callable[[], object]) -> float:
    return min(timeit.repeat(work, number=1000, repeat=ROUNDS)) * 1000


def _speed(text: bytes, work: Callable[[bytes], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for at in range(0, len(text), PIECE):
            work(text[at : at + PIECE])
        best = min(best, time.perf_counter() - began)
    return len(text) / best / 1e6


if __name__ == "__main__":
    main()
