"""Credentials for a replay that are none: so that its requests are judged as they were when it was recorded.

Always: a stand-in is drawn anew, opens nothing and goes nowhere. Where a placeholder may not stand, a request
is refused by the same code in the same words; where it may, the placeholder is what is recorded. What a
bundle names as a placeholder and does not look like one of hark's is passed over: somebody else may have
written it.
"""

import re
import secrets
import string
from collections.abc import Iterable, Mapping
from typing import Final

from hark.policy.model import Secret, SecretSpec

_MADE_BY_HARK: Final = re.compile(r"[!-~]{0,4096}hark[A-Za-z0-9]{20}[!-~]{0,16384}")
_ALPHABET: Final = string.ascii_letters + string.digits


def stand_ins(specs: Iterable[SecretSpec], env: Mapping[str, str]) -> tuple[Secret, ...]:
    """Return one for each secret of a policy whose placeholder the agent's recorded environment has."""
    found: dict[str, Secret] = {}
    for spec in specs:
        placeholder = env.get(spec.name, "")
        if _MADE_BY_HARK.fullmatch(placeholder) and placeholder not in found:
            value = "".join(secrets.choice(_ALPHABET) for _ in placeholder)
            found[placeholder] = Secret(spec.name, value, placeholder, spec.hosts, spec.surfaces, spec.sigv4)
    return tuple(found.values())
