"""The one exchange that an event belongs to, and the placeholders that the run's agent held.

Always: both readings of the frames are carried to their end, so that whoever reads a bundle again has checked
all of it. A secret is put in for a host only if hark put it in there, and in no request that hark refused:
an agent that was misled writes its placeholder wherever it was told to. An event that belongs to no HTTP
request is a UsageError that says what to look for instead.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.bounds import kind_name
from hark.bundle.frame import Frame
from hark.conversation.gathered import Gathered, gather
from hark.errors import HarkError, UsageError

_POLICY, _ENV, _INJECTED = 2, 3, 12
_OF_EXCHANGES = frozenset((5, 6, 7, 33, 35, 36, 44, 45, 46))
_REF: Final = "secrets."


class Wanted(NamedTuple):
    """An exchange, and the names of secrets by their placeholders."""

    exchange: Gathered
    put_in: dict[str, str]
    """Those that hark put in for the host of the exchange."""
    held: dict[str, str]
    """All others that the agent held."""


def wanted(frames: Callable[[], Iterator[Frame]], seq: int) -> Wanted:
    """Return the exchange of event `seq`, with what the agent held."""
    number, held, places = _looked_up(frames(), seq)
    found: Gathered | None = None
    for one in gather(frames()):
        if one.number == number and one.seq <= seq and (found is None or one.seq > found.seq):
            found = one
    if found is None:
        raise UsageError(f"event {seq} belongs to a request that is not on record")
    host = "" if found.refused else found.request.host
    put_in = {one: name for one, name in held.items() if host and (one, host) in places}
    return Wanted(found, put_in, {one: name for one, name in held.items() if one not in put_in})


def _looked_up(frames: Iterable[Frame], seq: int) -> tuple[int, dict[str, str], set[tuple[str, str]]]:
    """Return the exchange's number, each placeholder's name, and the hosts for which it was replaced."""
    number, events, what = None, 0, ""
    placeholders: dict[str, str] = {}
    places: set[tuple[str, str]] = set()
    policy, env = ev.PolicyLoaded(), ev.EnvSnapshot()
    for frame in frames:
        events += 1
        if frame.seq == seq:
            what = kind_name(frame.kind)
            if frame.kind in _OF_EXCHANGES and frame.payload:
                number = getattr(ev.decode_frame(frame), "exchange", None)
        if frame.kind not in {_POLICY, _ENV, _INJECTED} or not frame.payload:
            continue
        match ev.decode_frame(frame):
            case ev.PolicyLoaded() as loaded:
                policy = loaded
            case ev.EnvSnapshot() as snapshot:
                env = snapshot
            case ev.SecretInjected() as injected:
                placeholders[injected.placeholder] = injected.ref.removeprefix(_REF)
                places.add((injected.placeholder, injected.host))
            case _:
                pass
    if number is None:
        raise UsageError(_nothing(seq, events, what))
    return number, _named(policy, env) | placeholders, places


def _named(policy: ev.PolicyLoaded, env: ev.EnvSnapshot) -> dict[str, str]:
    """The placeholders that the agent found in its environment, though none of them was used."""
    from hark.policy.parse import parse_policy

    try:
        secrets = parse_policy(policy.raw, policy.source).secrets
    except HarkError:  # another writer's policy, or another version's
        return {}
    return {env.vars[spec.name]: spec.name for spec in secrets if spec.name in env.vars}


def _nothing(seq: int, events: int, what: str) -> str:
    look = "`hark inspect -kind LlmRequest` lists the requests"
    if not what:
        return f"there is no event {seq}, the bundle has {events}; {look}"
    return f"event {seq} ({what}) belongs to no request; {look}"
