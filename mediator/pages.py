"""What the agent is told in words when hark answers in a server's place: short plain text with the next step.

Nothing in a page comes from a secret; what comes from the agent or a server has been made text before.
"""

import json
from typing import Final

from hark.policy.decide import Deny
from mediator.authority import Destination

CONTENT_TYPE: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
BY_HARK: Final = "hark"
"""The value of the `server` header: a person who debugs an agent should see who answered."""


def refusal(target: Destination, denied: Deny) -> bytes:
    """Return the page for a request that the policy does not allow."""
    lines = [f"hark: not sent to {target}: {denied.reason}."]
    if denied.hint:
        lines.append(f"To allow it, add {json.dumps(denied.hint)} to allow_hosts in the policy.")
    if denied.table:
        lines += ["To allow it, add to the policy:", "", denied.table]
    return _text(lines)


def upstream_failure(target: Destination, reason: str) -> bytes:
    """Return the page for a server that could not be asked."""
    return _text([f"hark: no answer from {target}: {reason}."])


def raw_response(status: str, body: bytes) -> bytes:
    """Return a whole HTTP/1.1 response after which the connection is closed."""
    head = (
        f"HTTP/1.1 {status}\r\nserver: {BY_HARK}\r\ncontent-type: {CONTENT_TYPE}\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def _text(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")
