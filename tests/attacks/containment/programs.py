"""How attack programs of this area are run: inside a boundary, or outside as the same user.

A program says `SUCCEEDED ...` or `REFUSED ...` in its last line.
"""

import os
import subprocess
from typing import Any, Final

from tests.attacks.registry import Outcome, Verdict
from tests.launcher.rig import PATH, SYSTEM_PYTHON, WHO, Result, apart, python

CALLER: Final = WHO[-1]
"""Root where the tests are root: its agent has most to lose."""

TRY: Final = """
import os, sys, socket, ctypes
def attempt(action):
    try:
        got = action()
    except (OSError, subprocess_error) as error:
        return print("REFUSED", error)
    print("SUCCEEDED", got)
subprocess_error = KeyError
"""
"""Start of a program that ends with `attempt(function)`."""


def judge(result: Result) -> Outcome:
    """The program's own last line; a boundary that did not come up says nothing about the attack."""
    if result.error:
        return Outcome(Verdict.UNKNOWN, result.error)
    outcome = Outcome.said(result.out)
    return outcome if outcome.verdict is not Verdict.UNKNOWN else Outcome.said(result.err)


def inside(program: str, **options: Any) -> Outcome:
    """Run the attack inside a boundary launched by `CALLER`."""
    return judge(python(TRY + program, **({"who": CALLER} | options)))


def outside(program: str, *, who: str = CALLER, **options: Any) -> Outcome:
    """Run the same attack on the bare host."""

    def work() -> str:
        done = subprocess.run(
            [SYSTEM_PYTHON, "-I", "-c", TRY + program],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            timeout=60,
            **({"env": {"PATH": PATH}} | options),
        )
        return done.stdout or done.stderr

    return Outcome.said(apart(work, who=who))


def as_root() -> bool:
    """Whether attacks that only root's agent could make can be shown here."""
    return os.geteuid() == 0
