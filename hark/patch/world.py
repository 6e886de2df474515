"""What may change the world, and so is not done a second time by a fork unless its policy marks it.

What always holds: on the live side of a fork a request passes if its method is safe (RFC 9110, 9.2.1), if it
only asks a model (`hark.patch.models`) or reads a repository, or if a rule of the policy in force marks it;
all else is refused with the line that would mark it. A mark that lists tools lets messages of MCP pass, by
POST, and of the calls among them those of these tools. Whether the policy allows it at all is judged apart.
"""

import json
import re
from dataclasses import replace
from typing import Final

from hark.bundle.fields import Pairs
from hark.patch.models import model_api
from hark.policy import wanted
from hark.policy.decide import marked, marked_tools
from hark.policy.host import HostError, split_authority
from hark.policy.model import HTTPS_PORT, Policy, Speaks
from hark.policy.paths import Spelled, spell
from hark.policy.wanted import shown

SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS"))
FETCH: Final = "/git-upload-pack"
"""How git asks for objects (gitprotocol-http): it only reads."""
MARK: Final = "may_reexecute = true"
_NOT_AGAIN: Final = re.compile(
    r'(?!as its header )[^"]* may change the world, and a fork does not '
    r"(do that|open one|connect|call it) again\b"
)
"""What the reasons given here have in common, and no reason of a policy's has: those quote what an agent
wrote between quotation marks, behind that beginning, or without blanks."""


def changes_world(sent_method: str, host: str, path: str, policy: Policy, headers: Pairs = ()) -> str:
    """Return why a request is not made again, with the policy's line that marks it; empty where it may be.

    Where `tools_again` has tools, its body is still to be looked at.
    """
    if tools_again(sent_method, host, path, policy, headers) != ():
        return ""
    what = f"{shown(sent_method)} to {shown(host)}{shown(path.partition('?')[0])}"
    mend = _mend(host, sent_method, path)
    some = '; of its tools alone: may_reexecute = ["TOOL"]' if _talks_mcp(sent_method, headers) else ""
    return f"{what} may change the world, and a fork does not do that again; {mend}{some}"


def tools_again(
    sent_method: str, host: str, path: str, policy: Policy, headers: Pairs = ()
) -> tuple[str, ...] | None:
    """Return the tools that a request may call again; None where it may be made again whatever it asks."""
    if sent_method in SAFE or model_api(sent_method, host, path, headers) is not None:
        return None
    match spell(path):
        case Spelled(text) if sent_method == "POST" and text.endswith(FETCH):
            return None
        case _:
            pass
    if _marked(policy, host, sent_method, path):
        return None
    place = _place(host)
    if place is None or sent_method != "POST":
        return ()
    return marked_tools(policy, *place, sent_method, path)


def websocket_changes_world(host: str, path: str, policy: Policy) -> str:
    """Return why a WebSocket is not opened again; empty where it may be."""
    if _marked(policy, host, "GET", path):
        return ""
    return (
        f"a WebSocket to {shown(host)}{shown(path.partition('?')[0])} may change the world, and a fork does "
        f"not open one again; {_mend(host, 'GET', path)}"
    )


def upgrade_changes_world(method: str, host: str, path: str, policy: Policy) -> str:
    """Return why a request is not made again that asks for another protocol; empty where it may be."""
    if _marked(policy, host, method, path):
        return ""
    return (
        f"an upgraded connection to {shown(host)}{shown(path.partition('?')[0])} may change the world, and a "
        f"fork does not open one again; {_mend(host, method, path)}"
    )


def tcp_changes_world(host: str, port: int, policy: Policy) -> str:
    """Return why a connection of raw TCP is not made again; empty where it may be."""
    if marked(policy, host, port, None):
        return ""
    lines = wanted.table(host, port, speaks=Speaks.TCP)
    return (
        f"raw TCP to {shown(host)}:{port} may change the world, and a fork does not connect again; "
        f"mark it in the policy: {_on_one_line(lines)}"
    )


def tool_changes_world(server: str, tool: str, policy: Policy) -> str:
    """Return why a tool over stdio is not called again; empty where it may be."""
    for known in policy.mcp:
        if known.name == server and tool in known.may_reexecute:
            return ""
    mend = f"mark it in the policy: [mcp.{shown(server)}] may_reexecute = [{json.dumps(tool)}]"
    return f"{not_again(server, tool)}; {mend}"


def is_not_again(reason: str) -> bool:
    """Tell whether a recorded refusal is of this kind, and not one of the policy's."""
    return _NOT_AGAIN.match(reason) is not None


def not_again(server: str, tool: str) -> str:
    """Say that a tool is not called again."""
    return (
        f"the tool {shown(tool)} of {shown(server)} may change the world, and a fork does not call it again"
    )


def unmarked(policy: Policy) -> Policy:
    """Return a policy without its marks: one that a bundle brings may not say what is done again.

    Its rules were those of whoever recorded it, and a fork runs on another one's word.
    """
    return replace(
        policy,
        allow=tuple(replace(rule, may_reexecute=False, again_tools=()) for rule in policy.allow),
        mcp=tuple(replace(server, may_reexecute=()) for server in policy.mcp),
    )


def _talks_mcp(sent_method: str, headers: Pairs) -> bool:
    """Tell whether a request looks like one of MCP's, which takes either kind of answer to each POST."""
    accepted = b",".join(value for name, value in headers if name.lower() == b"accept").lower()
    return sent_method == "POST" and b"application/json" in accepted and b"text/event-stream" in accepted


def _marked(policy: Policy, host: str, method: str, path: str) -> bool:
    place = _place(host)
    return place is not None and marked(policy, *place, method, path)


def _place(authority: str) -> tuple[str, int | None] | None:
    """Return host and port; without a port it is one of the web's."""
    try:
        host, port = split_authority(authority, 0)
    except HostError:
        return None
    return host, port or None


def _mend(authority: str, method: str, path: str) -> str:
    place = _place(authority)
    table = "" if place is None else wanted.table(place[0], place[1] or HTTPS_PORT, method, spell(path))
    if not table:
        return "no rule can mark it, since its method or path can be read in two ways"
    return f"mark it in the policy: {_on_one_line(table)}"


def _on_one_line(table: str) -> str:
    head, *keys = table.split("\n")
    return f"{head} {', '.join((*keys, MARK))}"
