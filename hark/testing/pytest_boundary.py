"""A marked test in a process of its own inside hark's boundary: recorded by `hark run`, replayed by `hark
replay`.

Always: a bundle is there whole or not at all: it is moved into place when a recording has passed. A host that
cannot confine a process fails the test with the reason. A bundle lies beside the test code and is trusted as
that is, so a replay does not ask whose key signed it; but it replays the test that it was recorded of. And a
test has passed where the pytest inside says so at its end, whatever its process left with.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from hark.errors import HarkError
from hark.testing.pytest_inside import PASSED, SKIPPED, outcome_in
from hark.testing.pytest_marks import HarkFailure, bundle_of, command_of, failed, is_recorded, policy_of
from hark.visible import visible

SECONDS: Final = 600
_PREFIX: Final = "hark: "
_FIRST: Final = frozenset((1, 3))
"""RunStart and EnvSnapshot, wherever they stand: a replay takes the last of each."""


def run(item: pytest.Item, marker: pytest.Mark) -> str:
    """Record or replay a test, and return what was done in words. Raises HarkFailure."""
    bundle = bundle_of(item, marker)
    if is_recorded(item, bundle):
        _record(item, marker, bundle)
        return f"recorded {bundle} in a boundary (hark run)"
    _refuse_another(item, marker, bundle)
    _replay(item, bundle)
    return f"replayed {bundle} in a boundary (hark replay)"


def cannot_be_had(item: pytest.Item) -> str:
    """Return why this machine has no boundary for a test; nothing where it has one."""
    done = _hark(item, ["doctor"])
    lines = done.stdout.splitlines()
    missing = [" ".join(line.split()) for line in lines if line.startswith(("missing", "unknown"))]
    return "" if done.returncode == 0 else "; ".join(missing) or "hark doctor found why not"


def _refuse_another(item: pytest.Item, marker: pytest.Mark, bundle: Path) -> None:
    """Refuse a bundle that was recorded of something else. What is no bundle is `hark replay`'s to say."""
    from hark.inprocess.words import is_another, other_test
    from hark.testing.pytest_variables import deciding

    recorded, env = _begun(bundle)
    if recorded and is_another(recorded, command_of(item)):
        raise HarkFailure(f"{bundle}: {other_test(recorded, command_of(item))}")
    for name in deciding(env, policy_of(item, marker)):
        raise HarkFailure(
            f"{bundle}: it was recorded with {name}={visible(env[name])}, by which pytest may run "
            "another test or none; set it here or in the test's policy too, or record the test without it"
        )


def _begun(bundle: Path) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the command and the environment of a bundle; nothing of what is none."""
    from hark.bundle import events as ev
    from hark.bundle.bounds import RunStart
    from hark.bundle.walk import BundleFile

    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    try:
        with BundleFile(str(bundle)) as file:
            for placed in file.frames():
                if placed.frame.kind not in _FIRST:
                    continue
                match ev.decode(placed.frame.kind, placed.frame.payload):
                    case RunStart() as start:
                        argv = start.argv
                    case ev.EnvSnapshot() as snapshot:
                        env = snapshot.vars
                    case _:
                        pass
    except (HarkError, OSError):
        pass
    return argv, env


def _record(item: pytest.Item, marker: pytest.Mark, bundle: Path) -> None:
    """Record the test; only a test that passed leaves a bundle."""
    policy = policy_of(item, marker)
    bundle.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".hark-", dir=bundle.parent) as folder:
        made = Path(folder) / "run.hark"
        words = ["run", "-o", str(made), *_readable(), *([f"-policy={policy}"] if policy else [])]
        done = _hark(item, [*words, "--", *command_of(item)])
        if done.returncode != 0 or not made.exists():
            raise HarkFailure(
                f"the recording failed with exit code {done.returncode}\n{done.stdout}{done.stderr}"
            )
        _ask_for_a_pass("the recording", done.stdout, done.stdout + done.stderr)
        made.replace(bundle)


def _replay(item: pytest.Item, bundle: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="hark-") as folder:
        words = ["replay", "-trust-bundle", f"-workdir={item.config.rootpath}", *_readable()]
        done = _hark(item, [*words, "-o", f"{folder}/again.hark", str(bundle)])
    if done.returncode != 0:
        said = [line.removeprefix(_PREFIX) for line in done.stderr.splitlines() if line.startswith(_PREFIX)]
        gone = [line for line in said if folder not in line]  # the replay's own bundle is not kept
        raise failed(bundle, gone, "", done.stdout)
    _ask_for_a_pass(f"the replay of {bundle}", done.stdout, done.stdout)


def _ask_for_a_pass(what: str, printed: str, shown: str) -> None:
    """Raise HarkFailure unless the test inside has passed; skip this one where it was skipped."""
    outcome = outcome_in(printed)
    if outcome == SKIPPED:
        pytest.skip(f"{what}: the test was skipped inside")
    if outcome != PASSED:
        why = (
            f"the test inside {outcome}"
            if outcome
            else "the test's process left with 0 before pytest came to its end (os._exit, another program)"
        )
        raise HarkFailure(f"{why}\n  in {what}\n{shown}")


def _readable() -> Iterator[str]:
    """Show this package inside where it lies apart from the interpreter, as when it is developed."""
    package = Path(__file__).resolve().parents[2]
    if not package.is_relative_to(Path(sys.prefix).resolve()):
        yield f"-read={package}"


def _hark(item: pytest.Item, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hark.cli.main", *words],
        cwd=item.config.rootpath,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="backslashreplace",
        timeout=SECONDS,
        check=False,
    )
