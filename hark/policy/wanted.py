"""The policy text that would allow what was denied, for whoever reads the denial: exact, and no wider."""

import json
from typing import Final

from hark.policy.model import HTTPS_PORT, Address, Speaks
from hark.policy.paths import Ambiguous, Spelled, wrong_pattern

MAX_SHOWN: Final = 120  # characters of what the agent wrote; the record has the request whole


def table(
    host: str,
    port: int,
    method: str | None = None,
    path: Spelled | Ambiguous | None = None,
    *,
    speaks: Speaks = Speaks.WEB,
    upstream: Address | None = None,
    upgrade: str = "",
) -> str:
    """Return an `[[allow]]` table for this host, and for this method and path alone where they are given.

    Empty where no table could allow it: a path that servers read in two ways, one too long to be shown, or
    one with a star, which in a pattern would allow others too.
    """
    lines = ["[[allow]]", f"host = {json.dumps(host)}"]
    if port != HTTPS_PORT or speaks is Speaks.TCP:
        lines.append(f"port = {port}")
    if speaks is Speaks.TCP:
        lines.append('protocol = "tcp"')
    if method is not None:
        if method != method.upper() or method == "CONNECT" or len(method) > MAX_SHOWN:
            return ""
        lines.append(f"methods = [{json.dumps(method)}]")
    if upstream is not None:
        lines.append(f"upstream = {json.dumps(str(upstream))}")
    if upgrade:
        lines.append(f"upgrade = [{json.dumps(upgrade)}]")
    match path:
        case None:
            pass
        case Ambiguous():
            return ""
        case Spelled(text):
            if "*" in text or wrong_pattern(text) or len(text) > MAX_SHOWN:
                return ""
            lines.append(f"paths = [{json.dumps(text)}]")
    return "\n".join(lines)


def dialled(table: str, upstream: Address | None) -> str:
    """Return a table with the place that the policy dials for its host already: two places are refused."""
    return f"{table}\nupstream = {json.dumps(str(upstream))}" if table and upstream is not None else table


def shown(text: str) -> str:
    """Return what the agent wrote as one short line of printable ASCII."""
    short = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return ascii(short)[1:-1]
