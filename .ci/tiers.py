"""Runs the tiers of `make test` in order: each is timed against its budget, and all run even if one fails.

The last line is in the form of pytest's own closing line, for all tiers together. A tier that runs over its
budget is told so and no more, since a slow or busy machine is no defect; one that takes `STOP_AT` times its
budget is stopped and has failed. A tier of tests that collects none has failed too. The unit tier runs
without a network (see offline.py); tests marked `slow` run in the attack tier, which has the time. What one
tier alone needs is set up in its turn, outside its budget: where that fails it has failed, and the rest runs.
"""

import contextlib
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
GRACE_S: Final = 20
"""For pytest to name its failures after SIGINT: xdist alone gives its workers 10 seconds to end."""
SET_UP_S: Final = 3600
"""The clients are 1.5 GB; a line too slow for that within the hour is taken for one that hangs."""
IGNORABLE: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""What nohup and a shell's `&` have ignored. The tests of signals need what a terminal would start."""
COUNTED: Final = ("failed", "passed", "skipped", "xfailed", "xpassed", "warnings", "error")
"""pytest's words in pytest's order; `deselected` is left out, since the next tier selects those."""
CLOSING: Final = re.compile(r"^=* ?([0-9]+ \w+(?:, [0-9]+ \w+)*) in [0-9.]+s")


@dataclass(frozen=True, slots=True)
class Tier:
    """Commands that are run one after the other, and the seconds they should take together."""

    budget: int
    commands: tuple[tuple[str, ...], ...]
    tests: bool = True
    set_up: tuple[str, ...] = ()


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
    "unit": Tier(180, ((*OFFLINE, *pytest("-n", "2", "-m", NEITHER)),)),
    "attack": Tier(360, (pytest("-n", "2", "-m", "(attack or slow) and not e2e"),)),
    "e2e": Tier(500, (pytest("-n", "2", "-m", "e2e"),)),
    # Shapes of agents, recorded and replayed twice each; a table, not tests (fidelity/, docs/fidelity.md).
    "fidelity": Tier(
        300, ((sys.executable, "-m", "fidelity", "--quick", "-n", "2", "-j", "2"),), tests=False
    ),
    "clients": Tier(300, (pytest("-n", "2", "-m", "clients"),), set_up=("make", "-s", ".clients/.done")),
}


def hear() -> None:
    """Have what is started here begin with no signal ignored, and still not be ended by one that was.

    A signal with a handler has its default action again after exec; an ignored one stays ignored.
    """
    for number in IGNORABLE:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def start(command: tuple[str, ...]) -> subprocess.Popen[str]:
    """Start one command in a group of its own."""
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, process_group=0
    )


def stop(process: subprocess.Popen[str], ended: threading.Event) -> None:
    """Have a command end by itself, as by Ctrl-C; what is left of its group after `GRACE_S` is killed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGINT)
        ended.wait(GRACE_S)
        os.killpg(process.pid, signal.SIGKILL)


def run(command: tuple[str, ...], seconds: float, tally: Tally) -> bool:
    """Run one command, show what it prints, add up what pytest says; stop it after `seconds`."""
    ended = threading.Event()
    with start(command) as process:
        alarm = threading.Timer(max(seconds, 0), stop, (process, ended))
        alarm.start()
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                tally.read(line.rstrip())
            return process.wait() == 0
        finally:
            ended.set()
            alarm.cancel()


def run_tier(name: str, tally: Tally) -> bool:
    """Run all commands of a tier, then say how long it took; true if every one of them was content."""
    tier = TIERS[name]
    print(f"--- {name}: {tier.budget} s", flush=True)
    if tier.set_up and not run(tier.set_up, SET_UP_S, Tally()):
        print(f"--- {name}: FAILED: it could not be set up, so nothing of it ran", flush=True)
        return False
    started = time.monotonic()
    results = []
    for command in tier.commands:
        left = tier.budget * STOP_AT - (time.monotonic() - started)
        results.append(run(command, left, tally))
    took = time.monotonic() - started
    verdict = "passed" if all(results) else "FAILED"
    if took >= tier.budget * STOP_AT:
        verdict = f"FAILED: stopped, over {STOP_AT} times its budget"
    over = f" - over its budget of {tier.budget} s" if took > tier.budget else ""
    print(f"--- {name}: {verdict}, {took:.0f} s{over}", flush=True)
    return all(results)


def main(names: list[str]) -> int:
    """Run the named tiers; 0 if all passed."""
    hear()
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
