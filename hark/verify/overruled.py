"""Whether a run denied nothing: what a reader must not take for a policy that was in force.

Only the event that holds the policy is looked at, and of it only the source. Where that event was taken out,
or another writer put it elsewhere, nothing is known and nothing is said.
"""

from typing import Final

from hark.bundle import cbor
from hark.bundle.walk import BundleFile
from hark.errors import BundleError

POLICY_LOADED: Final = 2
UNSAFE: Final = ", overruled by --unsafe-allow-all"
"""How PolicyLoaded's Source ends then (docs/format.md)."""
_FIRST_EVENTS: Final = 3  # RunStart, PolicyLoaded: always in that order
_SOURCE: Final = 1


def allowed_everything(file: BundleFile) -> bool:
    """Tell whether the policy of a sound bundle was overruled by `--unsafe-allow-all`."""
    for _, placed in zip(range(_FIRST_EVENTS), file.frames(), strict=False):
        frame = placed.frame
        if frame.kind == POLICY_LOADED and frame.payload:
            try:
                fields = cbor.decode(frame.payload)
            except BundleError:
                return False
            source = fields.get(_SOURCE) if isinstance(fields, dict) else None
            return isinstance(source, str) and source.endswith(UNSAFE)
    return False
