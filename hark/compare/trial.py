"""One fork with one model, as a process of its own, and the check of what it left.

What always holds: a fork that did not end as FORKED has no check, and a check that ended with anything but
exit code 0 has not passed: not one that was killed, could not be started, or took too long.

The check is the caller's own command. It runs as the caller, in the caller's environment and outside of any
boundary, on files that an agent wrote.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from subprocess import TimeoutExpired
from typing import Any, Final

from hark.bundle.bounds import RunEnd
from hark.compare.measured import Measured, measure
from hark.compare.prices import Table
from hark.compare.processes import Processes
from hark.errors import BundleError

FORKED: Final = "FORKED"
NOT_FORKED: Final = "NOT-FORKED"
"""The word of a fork that hark refused or broke down in: there is no verdict on the agent."""
PASSED: Final = "pass"
FAILED: Final = "fail"
NOT_CHECKED: Final = "not run"
MAX_CHECK_S: Final = 1800  # a check that hangs must end some time; suites of an hour are not run per model
_SAID: Final = "hark: "
_TAIL: Final = 1 << 16  # bytes of what a fork said that are looked through for the reason it ended


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one fork is made of."""

    model: str
    name: str
    """For its files: no other fork's, and nothing in it that a path would mean."""
    words: tuple[str, ...]
    """Of `hark fork`, without what differs from fork to fork."""
    bundle: str
    folder: str
    """Where its copy of the project and what was printed are put."""
    output: str | None
    """Where the fork's bundle goes; None: where `hark ls` finds it."""
    check: str | None
    prices: Table

    @property
    def copy(self) -> str:
        """The copy of the project that the agent worked on."""
        return os.path.join(self.folder, self.name)


@dataclass(frozen=True, slots=True)
class Row:
    """How it went."""

    model: str
    word: str
    """The verdict of `hark fork`, or NOT_FORKED."""
    why: str
    """What keeps the row from having passed, where the other fields do not say it."""
    check: str | None
    """PASSED, FAILED, NOT_CHECKED; None where none was wanted."""
    check_code: int | None = None
    code: int = 0
    """The exit code of `hark fork`."""
    bundle: str | None = None
    measured: Measured | None = None
    verdict: Mapping[str, Any] = field(default_factory=dict)
    """All that `hark fork -json` says."""

    @property
    def passed(self) -> bool:
        """Tell whether it forked, could be measured, and passed the check where there is one."""
        return self.word == FORKED and self.check in {None, PASSED} and self.measured is not None

    @property
    def end(self) -> RunEnd | None:
        """How the agent ended."""
        return None if self.measured is None else self.measured.end


def trial(wanted: Wanted, processes: Processes, environ: Mapping[str, str]) -> Row:
    """Fork, measure, and check."""
    row = _forked(wanted, processes, environ)
    if row.word != FORKED or row.bundle is None:
        return row
    try:
        row = replace(row, measured=measure(row.bundle, wanted.model, wanted.prices))
    except BundleError as error:
        return replace(row, why=str(error))
    return row if wanted.check is None else _checked(row, wanted, wanted.check, processes, environ)


def _forked(wanted: Wanted, processes: Processes, environ: Mapping[str, str]) -> Row:
    """Run `hark fork`, without the current directory among what it imports from."""
    argv = [sys.executable, "-P", "-m", "hark.cli.main", "fork", *wanted.words, "-json"]
    argv += [f"-model={wanted.model}", f"-keep={wanted.copy}"]
    argv += [] if wanted.output is None else [f"-o={wanted.output}"]
    log, answer = f"{wanted.copy}.log", f"{wanted.copy}.json"
    with open(log, "xb", opener=_private) as said, open(answer, "xb", opener=_private) as printed:
        code = processes.run([*argv, "--", wanted.bundle], environ, printed, said)
    verdict = _verdict(answer)
    check, bundle = None if wanted.check is None else NOT_CHECKED, verdict.get("bundle")
    bundle = bundle if isinstance(bundle, str) and os.path.exists(bundle) else None
    word, why = verdict.get("verdict"), str(verdict.get("why") or "")
    if not isinstance(word, str):
        why = _last(log) or f"hark fork ended with exit code {code} and without a verdict"
        return Row(wanted.model, NOT_FORKED, why, check, code=code, bundle=bundle)
    return Row(wanted.model, word, why, check, code=code, bundle=bundle, verdict=verdict)


def _checked(row: Row, wanted: Wanted, command: str, processes: Processes, environ: Mapping[str, str]) -> Row:
    """Run the caller's command in the fork's copy."""
    about = {**environ, "HARK_MODEL": wanted.model, "HARK_BUNDLE": os.path.abspath(row.bundle or "")}
    argv, code, why = ("/bin/sh", "-c", command), None, ""
    try:
        with open(f"{wanted.copy}.check.log", "xb", opener=_private) as said:
            code = processes.run(argv, about, said, said, folder=wanted.copy, seconds=MAX_CHECK_S, whole=True)
    except TimeoutExpired:
        why = f"the check took longer than {MAX_CHECK_S} s and was ended"
    except OSError as error:
        why = f"the check could not be started: {error.strerror}"
    if code is not None and code < 0:
        why = f"the check was ended by signal {signal.Signals(-code).name}"
    return replace(row, check=PASSED if code == 0 else FAILED, check_code=code, why=why)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _verdict(path: str) -> dict[str, Any]:
    """Return what `hark fork -json` printed; nothing where it printed none."""
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _last(log: str) -> str:
    """Return the last sentence of hark's own; what the agent printed stands between them."""
    with open(log, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
        lines = file.read().decode("utf-8", "replace").splitlines()
    said = [line.removeprefix(_SAID) for line in lines if line.startswith(_SAID)]
    return said[-1] if said else ""
