"""Which tool calls a list of tools allows. Pure.

Always: what no entry covers is denied; a named argument that is missing, too long to match, cut short by some
readers, or spelled so that another reader might take it for the named one, is not covered. With no list
(None) every tool may.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hark.policy.model import ToolRule
from hark.policy.patterns import matches_whole
from mediator.mcp.jsonrpc import MAX_NAME, Call, Packet, compact, folded, readable

MAX_MATCHED: Final = 1 << 16  # bytes of an argument that a pattern is tried on: no path or query is longer
DENIED: Final = -32010
"""The code of hark's answer: in the range that JSON-RPC leaves to implementations, used by no MCP library."""

type Tools = tuple[ToolRule, ...] | None


@dataclass(frozen=True, slots=True)
class Denied:
    """A packet that is not passed on, because of this tool."""

    tool: str
    reason: str
    hint: str
    """The line for the policy that would allow it."""

    @property
    def words(self) -> str:
        """Return what the agent is told."""
        more = f"; to allow it, write into the policy: {self.hint}" if self.hint else ""
        return f"hark: not sent: {self.reason}{more}"


def judge(tools: Tools, packet: Packet, key: str) -> Denied | None:
    """Judge every call of a packet; the first that is denied denies it all. `key` is the list's name."""
    for message in packet.messages:
        if isinstance(message, Call):
            denied = judge_call(tools, message, key)
            if denied is not None:
                return denied
    return None


def judge_call(tools: Tools, call: Call, key: str) -> Denied | None:
    """Judge one call."""
    if tools is None:
        return None
    named = [rule for rule in tools if rule.name == call.tool]
    if any(_covers(rule, call.arguments) for rule in named):
        return None
    shown = json.dumps(readable(call.tool))  # ASCII: a name may hold anything
    if named:
        return Denied(call.tool, f"the arguments of tool {shown} match no entry of {key}", "")
    hint = f"{key} = [{shown}]" if len(call.tool) <= MAX_NAME else ""
    return Denied(call.tool, f"tool {shown} is not in {key}", hint)


def _covers(rule: ToolRule, arguments: Mapping[str, Any]) -> bool:
    return all(_matches(name, pattern, arguments) for name, pattern in rule.arguments.items())


def _matches(name: str, pattern: str, arguments: Mapping[str, Any]) -> bool:
    if any(key != name and folded(key) == folded(name) for key in arguments):
        return False  # a reader that does not mind case may take that one
    if name not in arguments:
        return False
    value = arguments[name]
    text = value if isinstance(value, str) else compact(value).decode()
    # A reader in C takes a text to end at U+0000 (in JSON's own text it stands as an escape).
    ends = "\0" in text or (text is not value and "\\u0000" in text)
    return not ends and len(text) <= MAX_MATCHED and matches_whole(pattern, text)


def answer(packet: Packet, reason: str) -> bytes:
    """Return the JSON-RPC errors for the requests of a packet that is not passed on; empty if it has none."""
    errors = [_error(message.id, reason) for message in packet.messages if _awaits(message)]
    if not errors:
        return b""
    return compact(errors if packet.batch else errors[0])


def unreadable(reason: str) -> bytes:
    """Return the JSON-RPC error for what could not be read."""
    return compact(_error(None, reason))


def _awaits(message: object) -> bool:
    return getattr(message, "id", None) is not None and not hasattr(message, "result")


def _error(number: object, reason: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": DENIED, "message": reason}}
