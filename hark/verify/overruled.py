"""Whether a run denied nothing: what a reader must not take for a policy that was in force.

Only the event that holds the policy is looked at, and of it only the source. Whoever has a copy can take that
event's payload out, without a key: then it is not known, and said to be. Where another writer put the event
elsewhere, or wrote none, nothing is said.
"""

from typing import Final, Literal

from hark.bundle import cbor
from hark.bundle.walk import BundleFile
from hark.errors import BundleError

POLICY_LOADED: Final = 2
UNSAFE: Final = ", overruled by --unsafe-allow-all"
"""How PolicyLoaded's Source ends then (docs/format.md)."""
_FIRST_EVENTS: Final = 3  # RunStart, PolicyLoaded: always in that order
_SOURCE: Final = 1


type Overruled = Literal["no", "yes", "taken out"]
"""What the record says of `--unsafe-allow-all`. No Enum: importing that takes a tenth of a verification."""


def overruled(file: BundleFile) -> Overruled:
    """Tell whether the policy of a sound bundle was overruled by `--unsafe-allow-all`."""
    for _, placed in zip(range(_FIRST_EVENTS), file.frames(), strict=False):
        frame = placed.frame
        if frame.kind == POLICY_LOADED:
            if not frame.payload:  # what a redaction leaves: no event is written empty
                return "taken out"
            return "yes" if _source(frame.payload).endswith(UNSAFE) else "no"
    return "no"


def _source(payload: bytes) -> str:
    try:
        fields = cbor.decode(payload)
    except BundleError:
        return ""
    source = fields.get(_SOURCE) if isinstance(fields, dict) else None
    return source if isinstance(source, str) else ""
