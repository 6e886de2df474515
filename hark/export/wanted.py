"""The one exchange that an event belongs to, and the placeholders that the run's agent held.

Always: both readings of the frames are carried to their end, so that whoever reads a bundle again has checked
all of it. An event that belongs to no HTTP request is a UsageError that says what to look for instead.
"""

from collections.abc import Callable, Iterable, Iterator

from hark.bundle import events as ev
from hark.bundle.bounds import kind_name
from hark.bundle.frame import Frame
from hark.conversation.gathered import Gathered, gather
from hark.errors import HarkError, UsageError

_POLICY, _ENV, _INJECTED = 2, 3, 12
_OF_EXCHANGES = frozenset((5, 6, 7, 33, 35, 36, 44, 45, 46))


def wanted(frames: Callable[[], Iterator[Frame]], seq: int) -> tuple[Gathered, dict[str, str]]:
    """Return the exchange of event `seq`, and each placeholder with its secret's name."""
    number, placeholders = _looked_up(frames(), seq)
    found = [one for one in gather(frames()) if one.number == number and one.seq <= seq]
    if not found:
        raise UsageError(f"event {seq} belongs to a request that is not on record")
    return found[-1], placeholders


def _looked_up(frames: Iterable[Frame], seq: int) -> tuple[int, dict[str, str]]:
    number, events, what = None, 0, ""
    placeholders: dict[str, str] = {}
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
                placeholders[injected.placeholder] = injected.ref
            case _:
                pass
    if number is None:
        raise UsageError(_nothing(seq, events, what))
    return number, _named(policy, env) | placeholders


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
