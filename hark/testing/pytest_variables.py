"""Variables of a bundle's by which Python or pytest would run another test, or the test otherwise, or none.

Always: under a name of such a kind a bundle has what the reader has, what the test's own policy assigns, what
hark itself puts there, or nothing.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from hark.errors import HarkError
from hark.plan.environment import KEPT
from hark.plan.policy_file import read_policy
from hark.repeatable.determinism import LIBRARY
from hark.repeatable.language_shims import PYTHON_FOLDER

_LOADER: Final = "LD_"
_KINDS: Final = ("PYTEST", "PYTHON", _LOADER)
"""How their names begin. With the last, ld.so loads other code, or tells and runs nothing."""
_OWN: Final = {"PYTHONPATH": PYTHON_FOLDER, "LD_PRELOAD": LIBRARY}
"""What hark puts before what a policy says."""
_SEED: Final = "PYTHONHASHSEED"
"""hark's own where it is a number; what pytest runs does not hang on that."""


def deciding(env: Mapping[str, str], policy: Path | None) -> Iterator[str]:
    """Yield the names of recorded variables that decide what is run, and are nobody's who may say so."""
    names = [name for name in sorted(env) if name.startswith(_KINDS) and name not in KEPT]
    assigned = _assigned(policy) if names else {}
    for name in names:
        value = env[name].removeprefix(f"{_OWN.get(name)}:")
        is_own = value == _OWN.get(name) or (name == _SEED and value.isdecimal())
        is_unset = not value and not name.startswith(_LOADER)  # to ld.so an empty one says something
        if not is_own and not is_unset and value not in (os.environ.get(name), assigned.get(name)):
            yield name


def _assigned(policy: Path | None) -> Mapping[str, str]:
    """Return what the policy for recording the test assigns; nothing where it cannot be read."""
    try:
        return read_policy(None if policy is None else str(policy), os.environ).env_set
    except (HarkError, OSError):
        return {}
