"""What a fork has of its forker: the policy that comes into force, its secrets, tool servers and ways out.

Always: a source of a secret, a tool server's command and an upstream are taken from the forker's own policy
and command line, never from the bundle. A secret that the forker does not name has no value, and a request
with its placeholder is refused. Without a policy of the forker's the recorded rules stay, without secrets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hark.bundle.events import PolicyLoaded
from hark.errors import PolicyError, UntrustedError
from hark.patch.where import Point
from hark.plan import outward, policy_file
from hark.plan.caller import Caller, home_of
from hark.plan.disclosure import finder, refuse_in_policy, refuse_told
from hark.plan.grants import writable
from hark.plan.preparation import Prepared
from hark.policy.model import Policy, Secret
from hark.rerun.recalled import Recalled
from hark.rerun.replaying import recorded_frames
from hark.rerun.restaging import parsed, without_secrets
from hark.running import record
from hark.visible import visible
from mediator.branching import InForce
from mediator.playback.standins import behind

if TYPE_CHECKING:
    from hark.plan.toolservers import ToolServers
    from mediator.proxy import Proxies


@dataclass(frozen=True, slots=True)
class Outward:
    """How real servers are reached."""

    upstreams: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    via_proxy: bool = False


@dataclass(frozen=True, slots=True)
class Forker:
    """All of it. Holds real secrets: never logged or recorded."""

    then: InForce = field(repr=False)
    upstreams: Mapping[str, str]
    roots: tuple[bytes, ...]
    proxies: "Proxies | None"
    notes: tuple[str, ...] = ()


def policy_then(recalled: Recalled, point: Point, named: str | None) -> Policy:
    """Return the policy of the live side. Raises PolicyError, ReplayError, UntrustedError."""
    if named is not None:
        return policy_file.load(named)
    loaded = recalled.loaded
    for frame in recorded_frames(recalled):
        if frame.seq <= point.at and isinstance(frame.event, PolicyLoaded):
            loaded = frame.event
    policy = parsed(loaded)
    led = next((rule for rule in policy.rules if rule.upstream is not None), None)
    if led is not None and not recalled.verified.own:
        raise UntrustedError(
            f"its policy leads {led.host} to {led.upstream} on your side; name the policy of the fork "
            "with -policy"
        )
    return without_secrets(policy)


def forker_of(
    prepared: Prepared, policy: Policy, given: Outward, environ: Mapping[str, str], *, own: bool
) -> Forker:
    """Resolve what the forker gives; `own`: the policy is theirs. Raises PolicyError."""
    home = home_of(environ)
    caller = Caller(environ, home, tuple(writable(prepared.plan.grants)))
    values = _values(prepared, policy, caller) if own else {}
    held = behind(prepared.secrets, policy.secrets, values)
    servers = _servers(prepared, policy, caller, held) if own else None
    programs = () if servers is None else servers.programs
    beside: tuple[Secret, ...] = () if servers is None else servers.secrets
    real = tuple(secret for secret in held if secret.name in values)
    find = finder((*real, *beside))
    refuse_in_policy(policy, find)
    refuse_told(find, prepared.plan.argv, prepared.plan.env, {})
    then = InForce(policy, record.loaded(prepared, policy), (*held, *beside), programs)
    ways = outward.upstreams(given.upstreams, policy)
    proxies = outward.proxies(environ, prepared.plan) if given.via_proxy else None
    notes = tuple(_notes(prepared, policy, held, own=own))
    return Forker(then, ways, outward.roots(given.roots), proxies, notes)


def refuse_values(prepared: Prepared, forker: Forker, written: Mapping[str, bytes]) -> None:
    """Refuse what the forker wrote if a real value stands in it in any form: the agent would read it.

    `written` maps what it is called to its text. Raises PolicyError.
    """
    from mediator.credentials import Broker

    broker = Broker(prepared.secrets, later=forker.then.secrets)
    held = {secret.name: secret.placeholder for secret in prepared.secrets}
    for what, text in written.items():
        name = broker.real_value_in(text)
        if name is not None:
            raise PolicyError(
                f"{what} has the value of secrets.{name} in it, which neither agent nor record may have; "
                f"write its placeholder there: {visible(held.get(name, name))}"
            )


def _values(prepared: Prepared, policy: Policy, caller: Caller) -> dict[str, str]:
    """Read the secrets for which the agent has a placeholder, and no other."""
    from hark.plan.secrets import resolve
    from mediator.credentials import check_value
    from mediator.placeholders import check_guess

    names = {secret.name for secret in prepared.secrets}
    specs = [spec for spec in policy.secrets if spec.name in names]
    read = resolve(specs, caller, lambda value: value)
    for secret in read:
        check_value(secret.name, secret.value)
        check_guess(secret.name, secret.value)
    return {secret.name: secret.value for secret in read}


def _servers(
    prepared: Prepared, policy: Policy, caller: Caller, held: tuple[Secret, ...]
) -> "ToolServers | None":
    """Make those tool servers ready for which the agent has a door."""
    from hark.plan import toolservers

    doors = {program.name for program in prepared.toolservers.programs}
    wanted = tuple(server for server in policy.mcp if server.name in doors)
    return toolservers.make_ready(replace(policy, mcp=wanted), caller, held) if wanted else None


def _notes(prepared: Prepared, policy: Policy, held: tuple[Secret, ...], *, own: bool) -> Iterator[str]:
    """Say what of the policy has no place in a fork, or is missing."""
    if not own:
        missing = [secret.name for secret in held if secret.missing]
        if missing:
            yield (
                f"secrets.{missing[0]} has no value in this fork, as no -policy was given: what would be "
                "sent with it is refused"
            )
        return
    fixed = [
        word
        for word, differs in (
            ("exec", policy.executables != prepared.policy.executables),
            ("[limits]", policy.limits != prepared.policy.limits),
            ("[sandbox]", policy.nested_sandboxes != prepared.policy.nested_sandboxes),
        )
        if differs
    ]
    if fixed:
        yield f"as recorded, since the agent has started under it by then: {', '.join(fixed)} of the policy"
