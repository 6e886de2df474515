"""What a bundle asks for, in lines for the person who decides whether it may run.

Always: every word of the bundle is made visible first (`hark.visible`), cut to a length that leaves the rest
on the screen, and stands behind a label of ours, so that nothing recorded passes for our words. What is not
given, whatever the bundle says, is said too. Decides nothing.
"""

import shlex
from collections.abc import Iterable, Iterator
from typing import Final

from hark.policy.model import Policy
from hark.rerun.recalled import Recalled
from hark.visible import visible

MAX_SHOWN: Final = 6  # entries of a list; `hark inspect` shows the bundle in full
MAX_WIDTH: Final = 240  # characters of one entry
_LABEL: Final = 13


def lines(recalled: Recalled, policy: Policy, signer: str) -> Iterator[str]:
    """Yield what is asked for, a label and a value on each line; safe to print."""
    start = recalled.start
    yield _line("command", visible(_clipped(shlex.join(start.argv))))
    yield _line("in", visible(_clipped(start.working_dir)))
    yield _line("environment", listed(sorted(recalled.env)))
    yield _line("policy", f"{visible(_clipped(recalled.loaded.source))}; hosts: {_hosts(recalled)}")
    for line in _wants(recalled, policy):
        yield _line("asks for", line)
    yield _line("project", _project(recalled))
    yield _line("signed by", signer)
    yield _line(
        "gets", "a copy of its project, the system read-only, and no network, credential or file of yours"
    )


def _line(label: str, value: str) -> str:
    return f"  {label:<{_LABEL}}{value}"


def _wants(recalled: Recalled, policy: Policy) -> Iterator[str]:
    """Yield what the recorded run had beyond the system and its project, and what becomes of it."""
    if policy.secrets:
        names = listed(secret.name for secret in policy.secrets)
        yield f"secrets {names}: not read; the agent gets the recorded placeholders"
    if policy.read_paths:
        yield f"to read {listed(policy.read_paths)}: not shown, unless you say -read"
    if policy.write_paths:
        yield f"to write {listed(policy.write_paths)}: empty, thrown away"
    if policy.mcp:
        servers = listed(server.name for server in policy.mcp)
        yield f"tool servers {servers}: not started; what they answered is played"
    if policy.publish:
        ports = len(policy.publish)
        yield f"{ports} published port{'' if ports == 1 else 's'}: none is opened"
    if recalled.start.upstreams:
        yield f"upstreams {listed(recalled.start.upstreams)}: nothing is dialled"
    if policy.nested_sandboxes:
        yield "sandboxes of its own ([sandbox] nested): allowed, so Landlock is not in force"
    if ignored := left_out(policy):
        yield f"to compare requests without {listed(ignored)}: what differs there alone counts as equal"
    if policy.allow_all:
        yield "every host (--unsafe-allow-all): nothing is dialled"


def _project(recalled: Recalled) -> str:
    if not recalled.snapshot_bytes:
        return "no copy of it is in the bundle"
    number = len(recalled.manifest)
    files = f"{number} file{'' if number == 1 else 's'}"
    return f"a copy of {files} in the bundle, {recalled.snapshot_bytes} bytes packed"


def _hosts(recalled: Recalled) -> str:
    return listed(recalled.loaded.allow_hosts) or "none"


def left_out(policy: Policy) -> tuple[str, ...]:
    """List what a policy's `[replay]` leaves out of the comparison: a stranger's may leave out everything."""
    rules = policy.replay
    return (
        *(f"header {name}" for name in rules.ignore_headers),
        *rules.ignore_json,
        *(f"query {name}" for name in rules.ignore_query),
        *(f"field {name}" for name in rules.ignore_form),
        *(f"{path} of messages" for path in rules.ignore_messages),
    )


def listed(values: Iterable[str]) -> str:
    """Spell a list for one line; safe to print."""
    everything = list(values)
    shown = ", ".join(visible(_clipped(value)) for value in everything[:MAX_SHOWN])
    more = len(everything) - MAX_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else f"{text[:MAX_WIDTH]}..."
