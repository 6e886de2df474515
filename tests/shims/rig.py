"""Programs inside a real boundary with the preload, under a seed and a clock that the test sets."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hark.repeatable import language_shims
from hark.repeatable.determinism import LIBRARY, Determinism, begin
from launcher.supervise import Boundary
from tests.launcher.rig import PATH, SYSTEM_PYTHON, Result, contained
from tests.support import preload

SEED: Final = bytes(range(32))
WALL_NS: Final = 1_700_000_000_000_000_000
"""In the past, as a replay's is."""


def shimmed(
    *argv: str,
    seed: bytes = SEED,
    wall_ns: int = WALL_NS,
    clock: bool = True,
    recorded: bytes | None = b"",
    during: Callable[[Boundary], Any] | None = None,
    env: dict[str, str] | None = None,
    mono_ns: int = 0,
    next_ns: int | None = None,
    languages: bool = False,
    **options: Any,
) -> Result:
    """Run `argv`. As a replay with an empty log, unless `recorded` is None: then the clock is refreshed.
    `next_ns`: when what comes in next came in; nobody knows, unless given.

    `found` of the result is the log's records, or what `after` returns.
    """
    shims = language_shims.files() if languages else {}
    controlled = Determinism(seed, clock, preload.built()[1], recorded=recorded, languages=shims)

    def before(boundary: Boundary) -> None:
        begin(controlled, boundary.page, boundary.log, wall_ns)
        boundary.page.move_monotonic(mono_ns)
        if next_ns is not None:
            boundary.page.set_next(next_ns)

    variables = {"PATH": PATH, "HOME": "/home/agent", "LANG": "C.UTF-8", "LD_PRELOAD": LIBRARY} | (env or {})
    variables |= language_shims.variables(variables) if languages else {}
    return contained(
        argv,
        shim=True,
        fixed_addresses=True,
        files=controlled.files(),
        before=before,
        during=during,
        after=options.pop("after", lambda boundary: boundary.log.records()[0]),
        env=variables,
        **options,
    )


def python(program: str, **options: Any) -> Result:
    """Run a Python program on the system's interpreter."""
    return shimmed(SYSTEM_PYTHON, "-c", program, **options)


def shell(script: str, **options: Any) -> Result:
    """Run a shell script."""
    return shimmed("/bin/bash", "-c", script, **options)


def installed(name: str) -> bool:
    """Whether a program of that name is in the system's folders."""
    return any(os.access(Path(folder) / name, os.X_OK) for folder in PATH.split(":"))
