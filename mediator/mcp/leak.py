"""Whether a JSON text gives a credential away: as it stands, or behind escapes, also nested ones. Pure."""

import re
from typing import Final

from mediator.credentials import Broker

_ROUNDS: Final = 3  # JSON within a text within JSON: what a tool that returns JSON sends
_ESCAPED: Final = re.compile(rb"\\+u00([2-7][0-9a-fA-F])")  # values are printable ASCII
_QUOTED: Final = re.compile(rb'\\+(["\\/])')


def leaked(broker: Broker, text: bytes) -> str | None:
    """Return the name of a secret whose value stands in `text`, or None."""
    found = broker.real_value_in(text)
    for _ in range(_ROUNDS):
        if found is not None or b"\\" not in text:
            return found
        text = _QUOTED.sub(rb"\1", _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), text))
        found = broker.real_value_in(text)
    return found
