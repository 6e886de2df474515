"""Traps 32 and 33: an end that was no good end, and passes for one.

Whole runs: the command line's own `run`, a real boundary, and the bundle that it leaves. A bundle passes for
a good run if it verifies and its RunEnd says exit code 0.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final
from unittest.mock import patch

from hark.bundle import outcome
from hark.bundle.walk import BundleFile
from hark.errors import HarkError
from hark.plan.preparation import Options
from hark.running import run as running
from hark.running import summary
from hark.verify import VERIFIED, steps, verify
from tests.attacks.containment.programs import CALLER
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.hark.bundle.bundles import write
from tests.launcher.rig import PATH, apart, project
from tests.support import preload
from tests.support.programs import without_its_loader

READY: Final = "ready"


def _recorded(script: bytes, during: Callable[[Path], None] = lambda _: None) -> Outcome:
    """Run an executable file of the project's under hark and judge its bundle as a reviewer would."""

    with project(CALLER) as folder, project(CALLER) as own:

        def work() -> Outcome:
            program = folder / "agent"
            program.write_bytes(script)
            program.chmod(0o755)
            during(folder)
            return _judged(program, own)

        preload.ready()
        outcome_of: Outcome = apart(work, who=CALLER)
        return outcome_of


def _judged(program: Path, own: Path) -> Outcome:
    bundle = own / "run.hark"
    options = Options((str(program),), output=str(bundle), workdir=str(program.parent))
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(own))
    preload.lay(home, os.geteuid(), os.getegid())
    try:
        running.run(options, home | {"PATH": PATH}, terminal=False, say=lambda _: None, show=lambda _: None)
    except HarkError as error:
        if not bundle.exists():
            return Outcome(Verdict.UNKNOWN, str(error))
    result = verify(str(bundle))
    good = result.verdict == VERIFIED and outcome.succeeded(result.run_end)
    return Outcome.seen(result.line(), succeeded=good)


def _never_started() -> Outcome:
    return _recorded(without_its_loader())


def _terminated() -> Outcome:
    # An agent that takes the signal for a polite request ends with code 0.
    script = f"#!/bin/sh\ntrap 'exit 0' TERM\n: > {READY}\nwhile :; do sleep 0.02; done\n"
    return _recorded(script.encode(), _terminate_when_ready)


def _terminate_when_ready(folder: Path) -> None:
    supervisor = os.getpid()
    if os.fork() == 0:
        while os.getppid() == supervisor:
            if (folder / READY).exists():
                os.kill(supervisor, signal.SIGTERM)
                break
            time.sleep(0.01)
        os._exit(0)


def _always_sealed_as_success() -> AbstractContextManager[object]:
    seal = running.Run._seal
    return patch.object(
        running.Run,
        "_seal",
        lambda self, writer, _why, _code: seal(self, writer, outcome.EXIT, 0),
    )


def _any_end_is_an_exit() -> AbstractContextManager[object]:
    return patch.object(summary, "reason", lambda _: outcome.EXIT)


def _cut_at_a_frame() -> Outcome:
    """Cut a good bundle where a frame ends: no byte of what is left is wrong."""
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name) / "run.hark")
        with BundleFile(str(path)) as file:
            border = [placed.offset for placed in file.frames()][-1]
        os.truncate(path, border)
        result = verify(str(path))
        return Outcome.seen(result.line(), succeeded=result.verdict == VERIFIED)


def _the_files_end_is_an_end() -> AbstractContextManager[object]:
    return patch.object(steps, "_truncated", lambda _: None)


add(
    32,
    "have a run that never started pass for a good one",
    _never_started,
    run_without(_always_sealed_as_success, _never_started),
)
add(
    33,
    "have a run ended by SIGTERM pass for a good one",
    _terminated,
    run_without(_any_end_is_an_exit, _terminated),
)
add(
    33,
    "have a bundle verify that was cut between events",
    _cut_at_a_frame,
    run_without(_the_files_end_is_an_end, _cut_at_a_frame),
)
