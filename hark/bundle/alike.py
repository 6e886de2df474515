"""Events that an agent causes over and over, decoded twice and no more: one name asked for, one host reached.

What always holds: what is returned is what `hark.bundle.events.decode_frame` would return, or raise. Payloads
that say the same differ in their salts alone, so they are remembered without them, and only where that was
seen to leave a whole payload. The kinds are those whose events hold nothing that could be changed afterwards.
"""

from typing import Final

from hark.bundle import events as ev
from hark.bundle.frame import Frame
from hark.errors import BundleError

ALIKE: Final = frozenset((10, 11, 12, 17, 18))  # attempts, names, decisions, secrets
MAX_BYTES: Final = 1_024  # of a payload that is remembered
MAX_KNOWN: Final = 512
_SALTED: Final = b"\x18\x3f\x50"
"""Key 63 and the head of 16 bytes: what stands before a salt, which is a payload's last value."""
_SALT: Final = len(_SALTED) + 16


class Alike:
    """Decodes frames, and remembers some of what it decoded."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], ev.Event | ev.Unknown | None] = {}
        """None: it was seen once, which most are that hold a number."""

    def decode(self, frame: Frame) -> ev.Event | ev.Unknown:
        """Return the event of a verified frame; a BundleError that names it where it cannot be read."""
        kind, payload = frame.kind, frame.payload
        if kind not in ALIKE or payload[-_SALT:-16] != _SALTED or len(payload) > MAX_BYTES:
            return ev.decode_frame(frame)
        key = (kind, payload[:-_SALT])
        if (known := self._known.get(key)) is not None:
            return known
        event = ev.decode_frame(frame)
        if key in self._known:
            self._known[key] = event if _is_whole(kind, payload) else None
        else:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = None
        return event


def _is_whole(kind: int, payload: bytes) -> bool:
    """Tell whether a payload, which can be read, is a shorter one and a salt."""
    if not 0xA1 <= payload[0] < 0xB8:  # the number of a map's pairs, where it stands in the first byte
        return False
    try:
        ev.decode(kind, bytes((payload[0] - 1,)) + payload[1:-_SALT])
    except BundleError:
        return False
    return True
