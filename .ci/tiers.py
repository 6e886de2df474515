"""Runs the tiers of `make test` in order: each is timed against its budget, and all run even if one fails.

The last line is in the form of pytest's own closing line, for all tiers together. A tier that runs over its
budget is told so and no more, since a slow or busy machine is no defect; one that takes `STOP_AT` times its
budget hangs: it is stopped and has failed. A tier of tests that collects none has failed too. The unit tier
runs without a network (see offline.py); tests marked `slow` run in the attack tier, which has the time.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BIN: Final = Path(sys.executable).parent
STOP_AT: Final = 3
"""Times the budget: far past a machine half as fast, and well before a job's own limit."""
COUNTED: Final = ("failed", "passed", "skipped", "xfailed", "xpassed", "warnings", "error")
"""pytest's words in pytest's order; `deselected` is left out, since the next tier selects those."""
CLOSING: Final = re.compile(r"^=* ?([0-9]+ \w+(?:, [0-9]+ \w+)*) in [0-9.]+s")


@dataclass(frozen=True, slots=True)
class Tier:
    """Commands that are run one after the other, and the seconds they should take together."""

    budget: int
    commands: tuple[tuple[str, ...], ...]
    tests: bool = True


@dataclass(slots=True)
class Tally:
    """What pytest's closing lines add up to."""

    counts: dict[str, int] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """Add the counts of one closing line; any other line adds nothing."""
        closing = CLOSING.match(line)
        for part in closing[1].split(", ") if closing else ():
            number, word = part.split(" ")
            word = {"warning": "warnings", "errors": "error"}.get(word, word)
            self.counts[word] = self.counts.get(word, 0) + int(number)

    def closing_line(self, seconds: float) -> str:
        """All tiers' counts as one line of pytest's form."""
        order = [word for word in COUNTED if word in self.counts]
        words = ", ".join(f"{self.counts[word]} {word}" for word in order) or "no tests ran"
        return f" {words} in {seconds:.2f}s ".center(100, "=")


def pytest(*arguments: str) -> tuple[str, ...]:
    """A pytest command whose closing line can be read: no colour, whatever the terminal."""
    return (sys.executable, "-m", "pytest", "-q", "--color=no", *arguments)


NEITHER: Final = "not attack and not e2e and not slow and not clients"
OFFLINE: Final = (sys.executable, str(ROOT / ".ci" / "offline.py"))
TIERS: Final = {
    "lint": Tier(
        60,
        (
            (str(BIN / "ruff"), "check", "."),
            (str(BIN / "ruff"), "format", "--check", "."),
            (str(BIN / "mypy"),),
            (str(BIN / "lint-imports"), "--no-logo"),
        ),
        tests=False,
    ),
    "unit": Tier(120, ((*OFFLINE, *pytest("-n", "2", "-m", NEITHER)),)),
    "attack": Tier(360, (pytest("-n", "2", "-m", "(attack or slow) and not e2e"),)),
    "e2e": Tier(300, (pytest("-n", "2", "-m", "e2e"),)),
    "clients": Tier(300, (pytest("-n", "2", "-m", "clients"),)),
}


def run(command: tuple[str, ...], seconds: float, tally: Tally) -> bool:
    """Run one command, show what it prints, add up what pytest says; past `seconds` kill its group."""
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, process_group=0
    ) as process:
        alarm = threading.Timer(max(seconds, 0), os.killpg, (process.pid, signal.SIGKILL))
        alarm.start()
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                tally.read(line.rstrip())
            return process.wait() == 0
        finally:
            alarm.cancel()


def run_tier(name: str, tally: Tally) -> bool:
    """Run all commands of a tier, then say how long it took; true if every one of them was content."""
    tier = TIERS[name]
    started = time.monotonic()
    print(f"--- {name}: {tier.budget} s", flush=True)
    results = []
    for command in tier.commands:
        left = tier.budget * STOP_AT - (time.monotonic() - started)
        results.append(run(command, left, tally))
    took = time.monotonic() - started
    verdict = "passed" if all(results) else "FAILED"
    if took >= tier.budget * STOP_AT:
        verdict = "FAILED: stopped as hanging"
    over = f" - over its budget of {tier.budget} s" if took > tier.budget else ""
    print(f"--- {name}: {verdict}, {took:.0f} s{over}", flush=True)
    return all(results)


def main(names: list[str]) -> int:
    """Run the named tiers; 0 if all passed."""
    tally = Tally()
    started = time.monotonic()
    failed = [name for name in names if not run_tier(name, tally)]
    if failed:
        print(f"failed: {', '.join(failed)}")
    if any(TIERS[name].tests for name in names):
        print(tally.closing_line(time.monotonic() - started))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
