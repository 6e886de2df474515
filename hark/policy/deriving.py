"""The policy that allows what a run reached, out of its record: hosts and ports, and no more. Pure.

Always: what comes out is a policy, and allows nothing that the run's own policy (or `--unsafe-allow-all`) had
not allowed and the agent had not asked for. What was denied is left out. A name in it may be the agent's own
invention: whoever allows it has read it first.
"""

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.frame import Frame
from hark.errors import PolicyError
from hark.policy import wanted
from hark.policy.host import format_authority
from hark.policy.model import HTTPS_PORT, Speaks
from hark.policy.parse import parse_policy

_WEB: Final = frozenset(("tls", "http"))
"""What an attempt is called that was taken for the web; all else was passed as raw TCP."""
_ATTEMPT, _DECISION = 10, 11


class Reached(NamedTuple):
    """One host and port that the run's agent was let through to."""

    host: str
    port: int
    speaks: Speaks


def derived(frames: Iterable[Frame]) -> Iterator[str]:
    """Yield the lines of the policy."""
    found = sorted(reached(frames), key=lambda one: (one.host, one.port, one.speaks.value))
    web = [entry for one in found if one.speaks is Speaks.WEB and (entry := _entry(one))]
    if web:
        yield "allow_hosts = ["
        for entry in web:
            yield f"    {json.dumps(entry)},"
        yield "]"
    taken = {(one.host, one.port) for one in found if one.speaks is Speaks.WEB}
    for one in found:
        if one.speaks is Speaks.WEB:
            continue
        table = wanted.table(one.host, one.port, speaks=Speaks.TCP)
        if (one.host, one.port) in taken:
            yield f"# raw TCP was passed to {json.dumps(_shown(one))} too, which cannot be had beside the web"
        elif _is_policy(table):
            yield from ("", *table.split("\n"))


def reached(frames: Iterable[Frame]) -> set[Reached]:
    """Return what the agent was let through to; an event that was redacted says nothing."""
    waiting: dict[str, deque[ev.EgressAttempt]] = defaultdict(deque)
    found: set[Reached] = set()
    for frame in frames:
        if frame.kind not in {_ATTEMPT, _DECISION} or not frame.payload:
            continue
        event = ev.decode_frame(frame)
        if isinstance(event, ev.EgressAttempt):
            waiting[event.host].append(event)
        elif isinstance(event, ev.EgressDecision) and waiting[event.host]:
            attempt = waiting[event.host].popleft()
            if event.allowed:
                speaks = Speaks.WEB if attempt.protocol in _WEB else Speaks.TCP
                found.add(Reached(attempt.host, attempt.port, speaks))
    return found


def _entry(one: Reached) -> str:
    """Return the entry of `allow_hosts`; empty where a policy cannot name the host."""
    entry = one.host if one.port == HTTPS_PORT and ":" not in one.host else _shown(one)
    return entry if _is_policy(f"allow_hosts = [{json.dumps(entry)}]") else ""


def _shown(one: Reached) -> str:
    return format_authority(one.host, one.port)


def _is_policy(text: str) -> bool:
    try:
        parse_policy(text.encode("utf-8", "replace"), "")
    except PolicyError:
        return False
    return True
