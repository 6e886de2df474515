"""The events with which every run opens, and the bundle's header: values to events, nothing else.

Hashes of what has no bytes of its own (argv, environment) are leaf(0, 0, CBOR), as the format has it for
the policy.
"""

import os
import time
from collections.abc import Iterator, Mapping
from typing import Final

from hark import RECORDER
from hark.bundle import cbor
from hark.bundle.bounds import RunStart
from hark.bundle.events import Boundary, EnvSnapshot, Event, PolicyLoaded
from hark.bundle.hashing import content_hash
from hark.bundle.header import Header
from hark.bundle.lineage import ORIGINAL, Lineage
from hark.plan.policy_file import OVERRULED
from hark.plan.preparation import Prepared
from hark.policy.decide import UNSAFE_ALLOW_ALL
from hark.policy.model import HostRule, Policy
from launcher import ceilings, processors
from launcher.plan import Access
from launcher.report import Facts

PROVIDERS: Final = ("network", "dns", "secrets", "input", "files")
"""What of the run is recorded: RunStart's ProviderSet. Clock and randomness are not yet."""


def header(run_id: str, prepared: Prepared, lineage: Lineage = ORIGINAL) -> Header:
    """Return the header of a run's bundle; `lineage` is a fork's."""
    return Header(
        run_id=run_id,
        created_at=time.time_ns(),
        recorder=RECORDER,
        argv_hash=_hash_of(list(prepared.plan.argv)),
        policy_hash=content_hash(prepared.policy.raw),
        env_hash=_hash_of(_text(prepared.plan.env)),
        parent_root=lineage.parent_root,
        fork_point=lineage.fork_point,
        patch_hash=lineage.patch_hash,
    )


def opening(run_id: str, prepared: Prepared, began_at: int | None = None) -> Iterator[Event]:
    """Yield the events that say what was asked for: before the boundary stands.

    `began_at` is the Unix time, in ns, that the times of events count from: now, unless given.
    """
    plan, policy = prepared.plan, prepared.policy
    yield RunStart(
        run_id=run_id,
        started_at=time.time_ns() if began_at is None else began_at,
        recorder=RECORDER,
        argv_hash=_hash_of(list(plan.argv)),
        policy_hash=content_hash(policy.raw),
        working_dir=_utf8(plan.workdir),
        provider_set=tuple(name for name in PROVIDERS if name != "input" or plan.record_input),
        argv=tuple(_utf8(word) for word in plan.argv),
        upstreams=tuple(sorted(_upstreams(prepared))),
    )
    yield loaded(prepared, policy)
    yield EnvSnapshot(vars=_text(plan.env))


def loaded(prepared: Prepared, policy: Policy) -> PolicyLoaded:
    """Return the event for a policy that comes into force: the first one's, or that of a later change."""
    grants = prepared.plan.grants
    return PolicyLoaded(
        source=_utf8(policy.source) + (OVERRULED if policy.allow_all else ""),
        allow_hosts=tuple(_allowed(policy)),
        read_paths=tuple(_utf8(grant.path) for grant in grants if grant.access is Access.READ),
        write_paths=tuple(_utf8(grant.path) for grant in grants if grant.access is Access.WRITE),
        raw=policy.raw,
    )


def _allowed(policy: Policy) -> Iterator[str]:
    """Yield every host and port that a rule allows; conditions of rules stand in the policy's own text."""
    if policy.allow_all:
        yield UNSAFE_ALLOW_ALL
    for rule in policy.rules:
        yield from (str(HostRule(rule.host, port)) for port in rule.ports)


def _upstreams(prepared: Prepared) -> Iterator[str]:
    """Yield where hosts are dialled instead: the command line's words, then what the policy's rules say."""
    for host, address in prepared.upstreams.items():
        yield f"{host}={address}"
    for rule in prepared.policy.rules:
        if rule.upstream is not None:
            yield from (f"{HostRule(rule.host, port)}={rule.upstream}" for port in rule.ports)


def _supervised(policy: Policy) -> Iterator[str]:
    """Yield the limits that the supervisor keeps itself, and how."""
    limits = policy.limits
    if limits.time_s is not None:
        yield f"limits.time {limits.time_s:g} s: SIGTERM to the agent, then SIGKILL to all inside"
    if limits.events_per_s is not None:
        yield f"limits.events_per_second {limits.events_per_s}: counted before each event, over ten seconds"
    if policy.max_bytes is not None:
        yield f"record.max_bytes {policy.max_bytes}: counted before each event, its end included"


def boundary(prepared: Prepared, facts: Facts) -> Boundary:
    """Return the event that says what the kernel enforces, once it does, and who else is trusted."""
    plan = prepared.plan
    extra_roots = [content_hash(pem).hex() for pem in prepared.upstream_roots]
    proxies = () if prepared.proxies is None else prepared.proxies.all
    uncovered = set(facts.uncovered)
    kept_back = (
        *(f"masked {path}" for path in plan.masked if path not in uncovered),
        *(f"protected {path}" for path in plan.protected if path not in uncovered),
        *(f"hidden {path}" for path in plan.hidden if path not in uncovered),
    )
    notes = (
        *((f"{UNSAFE_ALLOW_ALL}: every host and port is allowed",) if prepared.policy.allow_all else ()),
        *prepared.toolservers.notes,
        *(f"-upstream-ca: roots with the hash {root}" for root in extra_roots),
        *(f"-via-proxy: upstreams are dialled through {proxy}" for proxy in proxies),
        *(f"grant withheld, since hark's own files lie in it: {path}" for path in facts.withheld),
        *(f"network setting not taken by this kernel: {name}" for name in facts.settings_unset),
        *ceilings.in_force(plan.limits),
        *_supervised(prepared.policy),
    )
    counts = plan.processors or processors.here()
    umask, ignored = ("", ()) if plan.inherits is None else plan.inherits.told()
    return Boundary(
        landlock_abi=facts.landlock_abi,
        kernel=f"{facts.kernel} {facts.machine}",
        uid=facts.uid,
        gid=facts.gid,
        grants=tuple(
            _utf8(f"{grant.access} {grant.path}: {grant.why}, {grant.owners}") for grant in facts.grants
        ),
        withheld=tuple(_utf8(line) for line in kept_back),
        notes=tuple(_utf8(line) for line in notes),
        waits_for_all=plan.wait_for_all,
        processors=counts.usable,
        online=counts.online,
        umask=umask,
        ignored=ignored,
    )


def _hash_of(value: object) -> bytes:
    return content_hash(cbor.encode(value))


def _text(env: Mapping[str, str]) -> dict[str, str]:
    return {_utf8(name): _utf8(value) for name, value in env.items()}


def _utf8(text: str) -> str:
    """Escape what the file system's names may hold and UTF-8 may not."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")
