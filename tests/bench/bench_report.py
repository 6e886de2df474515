"""How long a report takes, and how much memory, by the number of events.

    python -m tests.bench.bench_report [EVENTS...]

Runs are made of exchanges with a model in the shape of Anthropic's, eight events each, and reports by the
program, each in a process of its own. Where the machine does other work too, the processor's seconds count.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hark.bundle import events as ev
from tests.bench import apart
from tests.support.recordings import bundle

EVENTS: Final = (1_000, 10_000, 100_000)
A_ROUND: Final = 8


def happened(events: int) -> Iterator[Any]:
    """Exchanges, one after the other."""
    for number in range(1, events // A_ROUND + 1):
        body = {"model": "m", "messages": [{"role": "user", "content": f"question {number} " * 20}]}
        usage = {"input_tokens": 40, "output_tokens": 7}
        answer = {"model": "m", "content": [{"type": "text", "text": "yes " * 60}], "usage": usage}
        data = json.dumps(answer).encode()
        yield ev.DnsQuery("api.example", "A", number)
        yield ev.DnsDecision("api.example", allowed=True, rule="allow_hosts: api.example")
        yield ev.EgressAttempt("api.example", 443, "tls", "api.example")
        yield ev.EgressDecision("api.example", allowed=True, rule="allow_hosts: api.example")
        yield ev.LlmRequest(
            "api.example", "POST", "/v1/messages", {}, json.dumps(body).encode(), exchange=number
        )
        yield ev.LlmResponseChunk(0, data[:90], exchange=number)
        yield ev.LlmResponseChunk(1, data[90:], exchange=number)
        yield ev.LlmResponseEnd(200, {}, 2, exchange=number)


def measured(events: int, folder: Path) -> tuple[float, float, float, float]:
    """Seconds, those of the processor, megabytes of memory at the most, megabytes of the page."""
    made = bundle(folder / f"{events}.hark", *happened(events))
    page = folder / f"{events}.html"
    argv = [sys.executable, "-m", "hark.cli.main", "report", "-o", str(page), made]
    used = apart.taken(argv)
    return used.seconds, used.processor, used.peak_mb, page.stat().st_size / 1e6


def main() -> None:
    """Print a line for each number of events."""
    with tempfile.TemporaryDirectory(prefix="hark-report-") as folder:
        print(f"{'events':>8}  {'seconds':>8}  {'CPU':>7}  {'MB memory':>9}  {'MB page':>8}")
        for events in [int(word) for word in sys.argv[1:]] or EVENTS:
            took, cpu, memory, page = measured(events, Path(folder))
            print(f"{events:>8}  {took:>8.2f}  {cpu:>7.2f}  {memory:>9.0f}  {page:>8.1f}")


if __name__ == "__main__":
    main()
