"""Traps 11 and 12: a host that withholds a part of the boundary, and a probe from which nothing was learnt.

The condition is made for real in the launching process (`tests.launcher.conditions`). The attack of trap 11
succeeds if the agent's program runs all the same; that of trap 12 if `hark doctor` calls the host fit.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from launcher import doctor, kernel, landlock, seccomp
from launcher.doctor import State
from tests.attacks.containment.programs import judge
from tests.attacks.registry import Outcome, Verdict, add
from tests.launcher.conditions import Condition, docker_default, refusing
from tests.launcher.rig import SYSTEM_PYTHON, Result, apart, plan, project, run_here, without

PROGRAM: Final = "print('SUCCEEDED the agent runs')"


def _left_out(*steps: tuple[Any, str, object]) -> Callable[[], None]:
    """Have steps of the boundary that fail be left out without a word, as sandboxes were found to do."""

    def change() -> None:
        for module, name, instead in steps:
            without(module, name, _unless_refused(getattr(module, name), instead))()

    return change


def _unless_refused(step: Callable[..., Any], instead: object) -> Callable[..., Any]:
    def tried(*args: Any, **kwargs: Any) -> Any:
        try:
            return step(*args, **kwargs)
        except OSError:
            return instead

    return tried


def _launched(condition: Condition, change: Callable[[], None] = lambda: None) -> Outcome:
    """Launch on a host made by `condition`: refused is only what ended in a sentence before the agent ran."""
    with project() as folder:

        def work() -> Result:
            condition()
            return run_here(plan(folder, (SYSTEM_PYTHON, "-I", "-c", PROGRAM)), gateway=False)

        result: Result = apart(work, change=change)
    if result.error and not result.out:
        return Outcome(Verdict.REFUSED, result.error)
    return judge(result)


NO_LANDLOCK: Final = refusing(("landlock_create_ruleset", errno.EOPNOTSUPP, ()))
NO_FILTER: Final = refusing(("seccomp", errno.EINVAL, ((0, "=", 1),)))
NO_READ_ONLY: Final = refusing(("mount_setattr", errno.ENOSYS, ()))

WITHHELD: Final[dict[str, tuple[Condition, Callable[[], None]]]] = {
    "go without Landlock where the kernel has none": (
        NO_LANDLOCK,
        _left_out((landlock, "abi", 0), (landlock, "restrict", None)),
    ),
    "go without a call filter where none may be set": (NO_FILTER, _left_out((seccomp, "install", None))),
    "go without read-only mounts where none can be made": (
        NO_READ_ONLY,
        _left_out((kernel, "_setattr", None)),
    ),
}


def _withheld(name: str, condition: Condition, change: Callable[[], None]) -> None:
    add(11, name, lambda: _launched(condition), lambda: _launched(condition, change))


for _name, (_condition, _change) in WITHHELD.items():
    _withheld(_name, _condition, _change)


def _without_a_boundary() -> None:
    """Start the program bare where its boundary is refused: what a fallback comes to."""
    module = sys.modules[__name__]
    real = module.run_here  # type: ignore[attr-defined]

    def bare(*args: Any, **kwargs: Any) -> Result:
        result: Result = real(*args, **kwargs)
        if result.error:
            result.error, result.out = "", os.popen(f'{SYSTEM_PYTHON} -I -c "{PROGRAM}"').read()
        return result

    module.run_here = bare  # type: ignore[attr-defined]


add(
    11,
    "go without any boundary under Docker's default filter",
    lambda: _launched(docker_default),
    lambda: _launched(docker_default, _without_a_boundary),
)


def _vanishes() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def _is_broken() -> str:
    raise KeyError("bug")


def _hangs() -> str:
    signal.alarm(1)  # as the doctor's own, which a test does not wait for
    signal.pause()
    return "never"


def _found(probe: doctor.Probe, change: Callable[[], None] = lambda: None) -> Outcome:
    """Ask the doctor about a host of which one probe learns nothing."""

    def work() -> State:
        doctor._PROBES = (("thing", "user namespace", probe),)  # type: ignore[misc]
        (finding,) = doctor.check()
        return finding.state

    state: State = apart(work, change=change)
    return Outcome.seen(f"found {state.value}", succeeded=state is State.OK)


def _silence_is_consent() -> None:
    """Report only what is seen to be missing, and take the rest for fit."""
    report, finding = doctor._report, doctor.Finding

    def reported(write: int, step: str, probe: doctor.Probe) -> None:
        try:
            report(write, step, probe)
        finally:
            os.close(write)

    def counted(name: str, state: State, words: str, fix: str = "") -> doctor.Finding:
        return finding(name, State.OK if state is State.UNKNOWN else state, words, fix)

    doctor._report = reported
    doctor.Finding = counted  # type: ignore[misc,assignment]


UNSEEN: Final = {"was killed": _vanishes, "is broken itself": _is_broken, "never ends": _hangs}


def _unseen(name: str, probe: doctor.Probe) -> None:
    add(12, f"a host counts as fit by a probe that {name}", lambda: _found(probe),
        lambda: _found(probe, _silence_is_consent))  # fmt: skip


for _name, _probe in UNSEEN.items():
    _unseen(_name, _probe)


def _quiet() -> Outcome:
    """Run an attack program that ends before it says how it went."""
    with project() as folder:

        def work() -> Result:
            words = (SYSTEM_PYTHON, "-I", "-c", "raise SystemExit(1)")
            return run_here(plan(folder, words), gateway=False)

        return judge(apart(work))


def _counted_as_refused(read: Callable[[], Outcome]) -> Callable[[], Outcome]:
    """An attack is proof of a defence unless it succeeded: the mistake itself."""

    def attempt() -> Outcome:
        outcome = read()
        proof = outcome.verdict is not Verdict.SUCCEEDED
        return Outcome.seen(f"it said: {outcome.detail}", succeeded=proof)

    return attempt


def _counted_as_unknown() -> Outcome:
    outcome = _quiet()
    return Outcome.seen(f"counted as {outcome.verdict.value}", succeeded=outcome.verdict is Verdict.REFUSED)


add(
    12,
    "an attack that said nothing counts as one that was refused",
    _counted_as_unknown,
    _counted_as_refused(_quiet),
)
