"""What the pytest plugin knows of a marked test: its bundle, its policy, and the command that is its run.

Always: the command names the test, so that the bundle of one test is no bundle of another.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

MARKER: Final = "hark"
_VERDICT: Final = "REPLAY-"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_INSIDE: Final = ("-B", "-m", "pytest", "--hark-inside", "-p", "no:cacheprovider", "-q")


class HarkFailure(Exception):  # noqa: N818 (what a test's report calls it)
    """The test did not do what its bundle says, or could not be recorded."""


def marker_of(item: pytest.Item) -> pytest.Mark | None:
    """Return the mark of a test that this process does not run as it stands; None of any other."""
    return None if item.config.getoption("hark_inside") else item.get_closest_marker(MARKER)


def bundle_of(item: pytest.Item, marker: pytest.Mark) -> Path:
    """Return where a test's bundle lies: beside the test, or in `bundles/MODULE/TEST.hark` there."""
    folder = item.path.parent
    if marker.args:
        return folder / str(marker.args[0])
    name = _UNSAFE.sub("_", node_of(item).partition("::")[2].replace("::", "."))
    return folder / "bundles" / item.path.stem / f"{name}.hark"


def node_of(item: pytest.Item) -> str:
    """Return the test's own id: xdist puts the group behind it that the test is sent with."""
    groups = {
        str((mark.args or (mark.kwargs.get("name", "default"),))[0])
        for mark in item.iter_markers("xdist_group")
    }
    return item.nodeid.removesuffix(f"@{'_'.join(sorted(groups))}") if groups else item.nodeid


def command_of(item: pytest.Item) -> tuple[str, ...]:
    """Return what runs this test alone, in a boundary."""
    return (sys.executable, *_INSIDE, node_of(item))


def policy_of(item: pytest.Item, marker: pytest.Mark) -> Path | None:
    """Return the policy for recording a test."""
    named = marker.kwargs.get("policy")
    if named is not None:
        return item.path.parent / str(named)
    told = item.config.getini("hark_policy")
    return item.config.rootpath / told if told else None


def failed(bundle: Path, said: Sequence[str], *more: str) -> HarkFailure:
    """Return the failure of a replay: its verdict is the first line, which is what a summary has room for.

    What was said as the replay began stands below its verdict again, indented, and is left out.
    """
    verdict = next((line for line in said if line.startswith(_VERDICT)), said[-1] if said else "")
    rest = [line for line in said if line is not verdict and f"  {line}" not in said]
    first = verdict or "hark replay said nothing"
    return HarkFailure("\n".join([first, f"  in the replay of {bundle}", *rest, *more]))


def is_recorded(item: pytest.Item, bundle: Path) -> bool:
    """Tell whether the test is to be recorded, and not replayed. Raises HarkFailure: there is no bundle."""
    mode = item.config.getoption("hark_record")
    if mode == "all" or (mode == "once" and not bundle.exists()):
        return True
    if not bundle.exists():
        raise HarkFailure(
            f"there is no bundle {bundle}; record it: pytest --hark-record=once {node_of(item)}"
        )
    return False
