"""Credentials for a replay that are none: so that its requests are judged as they were when it was recorded.

Always: a stand-in is drawn anew, opens nothing and goes nowhere. Where a placeholder may not stand, a request
is refused by the same code in the same words; where it may, the placeholder is what is recorded. What a
bundle names as a placeholder and does not look like one of hark's is passed over: somebody else may have
written it.
"""

import random
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from hark.policy.model import Secret, SecretSpec

_MADE_BY_HARK: Final = re.compile(r"[!-~]{0,4096}hark[A-Za-z0-9]{20}[!-~]{0,16384}")
_ALPHABET: Final = string.ascii_letters + string.digits
_SYSTEM: Final = random.SystemRandom()


def behind(
    held: Iterable[Secret], specs: Iterable[SecretSpec], values: Mapping[str, str]
) -> tuple[Secret, ...]:
    """Return what stands behind the same placeholders where another policy comes into force.

    `values` has real ones by name. What that policy does not name has no value, and what has none of it here
    keeps its stand-in: it is a replay.
    """
    named = {spec.name: spec for spec in specs}
    return tuple(_behind(one, named.get(one.name), values) for one in held)


def _behind(held: Secret, spec: SecretSpec | None, values: Mapping[str, str]) -> Secret:
    if spec is None:
        return replace(held, hosts=(), sigv4=None, missing=True)
    value = values.get(held.name, held.value)
    return Secret(held.name, value, held.placeholder, spec.hosts, spec.surfaces, spec.sigv4, spec.plain)


def stand_ins(specs: Iterable[SecretSpec], env: Mapping[str, str]) -> tuple[Secret, ...]:
    """Return one for each secret of a policy whose placeholder the agent's recorded environment has."""
    found: dict[str, Secret] = {}
    for spec in specs:
        placeholder = env.get(spec.name, "")
        if _MADE_BY_HARK.fullmatch(placeholder) and placeholder not in found:
            value = "".join(_SYSTEM.choice(_ALPHABET) for _ in placeholder)
            bound = spec.hosts, spec.surfaces, spec.sigv4, spec.plain
            found[placeholder] = Secret(spec.name, value, placeholder, *bound)
    return tuple(found.values())
