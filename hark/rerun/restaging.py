"""From what a bundle asks for to a run's plan: what is as recorded, and what only the caller can grant.

As recorded: command, environment, working directory, home, user, ids, terminal or not, host rules and limits.
From this machine: the system read-only, and what the command's program needs to start. From the caller
alone, by `-read`, `-write` and `-policy`: every other path. So of what the bundle names nothing of the host's
is opened, but for the program that it runs: its secrets are not read (stand-ins take their places), its tool
servers not started, its ports not opened, and its project is a copy. Folders that the recorded run could
write besides are empty ones.

The policy's words stay those of the record, so that a replay's own bundle replays.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from hark.bundle.events import PolicyLoaded
from hark.errors import BundleError, HarkError, PolicyError, ReplayError
from hark.places import contains, within
from hark.plan import nesting, policy_file, project, toolservers
from hark.plan.caller import home_of
from hark.plan.command import installation
from hark.plan.environment import DEFAULT_PATH
from hark.plan.executables import resolve as resolve_executables
from hark.plan.grants import active, granted, with_stubs, writable
from hark.plan.preparation import Prepared, own_places
from hark.policy.model import Clock, Policy, Randomness, ReplayRules
from hark.policy.parse import parse_policy
from hark.repeatable import determinism
from hark.replay import clocklog
from hark.rerun.lending import Lender, lend, lender
from hark.rerun.recalled import Recalled
from hark.rerun.searching import SYSTEM, Found, Places, search
from hark.rerun.throwaway import Throwaway
from hark.visible import visible
from launcher import processors, ssh, system
from launcher.caller import Inherited
from launcher.identity import may_be_seen
from launcher.pages import EPOCHS
from launcher.plan import Access, Grant, Plan
from mediator.playback.standins import stand_ins

_MASKED: Final = "masked "
_PROTECTED: Final = "protected "
"""How a line of Boundary's Withheld begins."""
_NOT_SHOWN_AT: Final = ("/dev", "/proc", "/sys", "/run/hark")
"""Where the launcher has file systems and files of its own."""
_LAST_TIME: Final = (1 << 63) - 1
"""Nanoseconds since 1970: what the kernel's clocks, the agent's page and certificates all can hold."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller gives a replay, on its command line."""

    policy: str | None = None
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    workdir: str | None = None
    """Whose copy stands for the project where the bundle has none."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A replay that can be launched."""

    prepared: Prepared
    notes: tuple[str, ...]
    """What is not as it was recorded."""


def policy_of(recalled: Recalled, given: Given) -> Policy:
    """Return the policy of the replay: the caller's, else the bundle's. Raises PolicyError, ReplayError."""
    if given.policy is not None:
        return policy_file.load(given.policy)
    return parsed(recalled.loaded)


def parsed(loaded: PolicyLoaded) -> Policy:
    """Return a policy that a bundle has. Raises ReplayError."""
    overruled = loaded.source.endswith(policy_file.OVERRULED)
    source = loaded.source.removesuffix(policy_file.OVERRULED)
    bare = source.endswith(policy_file.WITHOUT_SECRETS)
    source = source.removesuffix(policy_file.WITHOUT_SECRETS)
    if not loaded.raw:
        return Policy(source=source or Policy().source, allow_all=overruled)
    try:
        policy = parse_policy(loaded.raw, source)
    except PolicyError as error:
        raise ReplayError(f"its policy cannot be read by this hark: {error}") from None
    policy = replace(policy, allow_all=overruled)
    return without_secrets(policy) if bare else policy


def without_secrets(policy: Policy) -> Policy:
    """Return the same rules without secrets, tool servers and marks, and say so in their source.

    Nothing that a bundle brings is the forker's word for any of these.
    """
    from hark.patch.world import unmarked  # a fork's

    source = policy.source.removesuffix(policy_file.WITHOUT_SECRETS) + policy_file.WITHOUT_SECRETS
    return replace(unmarked(policy), source=source, secrets=(), mcp=())


def stage(
    recalled: Recalled,
    policy: Policy,
    given: Given,
    folders: Throwaway,
    environ: Mapping[str, str],
    *,
    giver: Lender | None = None,
) -> Staged:
    """Return the plan of a replay whose project lies in `folders`. Raises ReplayError, PolicyError.

    `giver` has what the record left out, and the programs that lie in it.
    """
    workdir = recalled.start.working_dir
    home = home_of(environ)
    path = recalled.env.get("PATH", DEFAULT_PATH)
    reference, own = giver.root if giver is not None else None, recalled.verified.own
    places = Places(workdir, folders.project, reference, path, environ, own)
    lent = lend(recalled.left_out, workdir, giver, folders)
    found = search(recalled.start.argv[0], places)
    grants = [*system.system_grants(), Grant(workdir, Access.WRITE, "project directory", folders.project)]
    besides = _written_besides(recalled, given)
    empties = ((path, folders.empty(file=path in recalled.single)) for path in besides)
    grants += [Grant(path, Access.WRITE, "write_paths", made) for path, made in empties]
    for inside, source in _needed(found, places, _active(recalled, places, environ, home)):
        grants.append(_shown(inside, source, f"needed by {found.shown_as}", places, folders))
    grants += lent.grants
    grants += _granted(given, policy, home)
    servers = toolservers.played(policy, home, environ)
    once = with_stubs(_once(grants), servers.needs)
    files = dict(_mounted(recalled, folders))
    controlled = _controlled(recalled, environ, once, nested=policy.nested_sandboxes)
    counts = None if policy.nested_sandboxes else _processors(recalled)
    plan = Plan(
        argv=(found.shown_as, *recalled.start.argv[1:]),
        executable=found.inside,
        workdir=workdir,
        env=dict(recalled.env),
        grants=once,
        files={**ssh.client_files(), **servers.files, **files, **_counted(counts)},
        masked=tuple(dict.fromkeys((*_masked(recalled, folders), *lent.masked))),
        protected=tuple(_kept_back(recalled, _PROTECTED)),
        hidden=own_places(environ),
        home=_home(recalled),
        limits=policy.limits,
        terminal=recalled.has_terminal,
        executables=_executables(policy, found, places, home, once),
        nested=policy.nested_sandboxes,
        shim=controlled.shim,
        seed=controlled.seed,
        processors=counts,
        fixed_addresses=bool(controlled.seed),
        published=tuple(one.port for one in policy.publish),
        inherits=_inherits(recalled),
        seen_as=_seen_as(recalled),
        wait_for_all=recalled.boundary is not None and recalled.boundary.waits_for_all,
    )
    if plan.nested:
        # What the recorded run kept back is empty in a copy; what the caller lends is not.
        nesting.check(replace(plan, masked=tuple(lent.masked), protected=()), ())
    played = replace(policy, publish=())
    surveyed = project.Project(folders.project, (), (), ())
    held = stand_ins(policy.secrets, recalled.env)
    prepared = Prepared(
        plan, played, held, {}, (), None, surveyed, servers, controlled=controlled, mounted=files
    )
    notes = (
        *_uncontrolled(controlled),
        *lent.notes(reference),
        *_differences(recalled, found, policy, given, once),
        *_uncounted(recalled, plan),
    )
    return Staged(prepared, notes)


def _controlled(
    recalled: Recalled, environ: Mapping[str, str], grants: tuple[Grant, ...], *, nested: bool
) -> determinism.Determinism:
    """Have clock and randomness under control as they were when it was recorded. Raises ReplayError."""
    recorded = recalled.determinism
    if recorded is None or not recorded.mechanisms:
        return determinism.Determinism()
    if recorded.seed and len(recorded.seed) != determinism.SEED_BYTES:
        raise ReplayError(f"its seed has {len(recorded.seed)} bytes, which no run of hark's has")
    clocked = any(word.startswith("clock") for word in recorded.mechanisms)
    rules = ReplayRules(
        clock=Clock.RECORDED if clocked else Clock.REAL,
        randomness=Randomness.SEEDED if recorded.seed else Randomness.REAL,
    )
    try:
        log = clocklog.unpack(recalled.clock, broken_off=recalled.truncated)
    except BundleError as error:
        raise ReplayError(str(error)) from None
    found = determinism.arrange(
        rules, environ, writable(grants), nested=nested, seed=recorded.seed, recorded=log
    )
    if found.missing and any(word.endswith("preload") for word in recorded.mechanisms):
        raise ReplayError(
            "the recorded run's clock and randomness were under control, and cannot be here: "
            f"{found.missing}; a C compiler is needed, and a state folder that can be written"
        )
    return found


def _uncontrolled(controlled: determinism.Determinism) -> Iterator[str]:
    if controlled.missing:
        yield (
            f"clock and randomness are this machine's own, so the agent may go another way: "
            f"{controlled.missing}"
        )


def _written_besides(recalled: Recalled, given: Given) -> tuple[str, ...]:
    """List what the recorded run could write besides its project, to be empty folders. Raises ReplayError."""
    if given.policy is not None:
        return ()
    workdir = recalled.start.working_dir
    paths = [path for path in recalled.loaded.write_paths if not contains(workdir, path)]
    for path in paths:
        refuse_place(path, "its run could write")
    return tuple(path for path in paths if not any(path != one and contains(one, path) for one in paths))


def refuse_place(path: str, what: str) -> None:
    """Refuse to show a folder of ours where no run of hark's had one. Raises ReplayError."""
    plain = _is_plain(path) and path != "/" and "\0" not in path
    if not plain or within(path, _NOT_SHOWN_AT) or project.belongs_to_system(path):
        raise ReplayError(f"{what} {visible(path)}, which no run of hark's could: it is not replayed")


def _is_plain(path: str) -> bool:
    """Tell whether a path has one spelling; `normpath` leaves two slashes in front, as POSIX has it."""
    return os.path.isabs(path) and os.path.normpath(path) == path and not path.startswith("//")


def refuse_hostile(recalled: Recalled) -> None:
    """Refuse what hark would not have recorded, before anything is made of it. Raises ReplayError."""
    refuse_place(recalled.start.working_dir, "it ran in")
    if not 0 <= recalled.start.started_at <= _LAST_TIME - recalled.last_time_ns:
        raise ReplayError(
            f"it began at {recalled.start.started_at}, which no clock that hark reads has shown"
        )
    _refuse_branches(recalled)
    _home(recalled)
    _seen_as(recalled)
    words = (*recalled.start.argv, *recalled.env, *recalled.env.values())
    if not recalled.start.argv[0] or any("\0" in word for word in words):
        raise ReplayError("its command or environment has what no program can be started with")
    if any(not name or "=" in name for name in recalled.env):
        raise ReplayError("its environment has a variable without a name")


def _refuse_branches(recalled: Recalled) -> None:
    """Refuse what no fork of hark's has, or more of it than the agent's page has room for."""
    if len(recalled.branches) >= EPOCHS:
        times = len(recalled.branches)
        raise ReplayError(f"it was forked {times} times in one line, and hark takes at most {EPOCHS - 1}")
    seeded = recalled.determinism is not None and bool(recalled.determinism.seed)
    for branch in recalled.branches:
        if not 0 <= branch.wall_ns <= _LAST_TIME - recalled.last_time_ns:
            raise ReplayError(f"it went live at {branch.wall_ns}, which no clock that hark reads has shown")
        if bool(branch.seed) != seeded:
            raise ReplayError("it went live with a seed where it began without, or the other way round")


def giver_of(recalled: Recalled, policy: Policy, given: Given, environ: Mapping[str, str]) -> Lender | None:
    """Return the caller's own directory: the one named, or the recorded one of a run of their own.

    Raises PolicyError where the one named is no project. What the policy unmasks counts where it is theirs.
    """
    unmask = policy.unmask if recalled.verified.own or given.policy is not None else ()
    if given.workdir is not None:
        if not os.path.isdir(given.workdir):
            raise PolicyError(f"-workdir {given.workdir} is no directory")
        return lender(given.workdir, environ, unmask, policy.mask)
    workdir = recalled.start.working_dir
    if not recalled.verified.own or os.path.realpath(workdir) != workdir:
        return None
    try:
        return lender(workdir, environ, unmask, policy.mask)
    except PolicyError:
        return None  # it is gone, or has become something else


def _active(recalled: Recalled, places: Places, environ: Mapping[str, str], home: str) -> tuple[str, ...]:
    """The environments that the caller works in, for a run of the caller's own; else the project's."""
    if places.reference is None:
        return ()
    if recalled.verified.own:
        return active({**environ, **recalled.env}, home, places.reference)
    return installation(f"{places.reference}/.venv", places.reference, home)


def _needed(found: Found, places: Places, more: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield where the agent expects what the program needs, and where it lies; the copy has its own."""
    for path in dict.fromkeys((*found.needs, *more)):
        inside = places.inside(path)
        if not within(inside, SYSTEM) and not contains(places.copy, path):
            yield inside, path


def _shown(inside: str, source: str, why: str, places: Places, folders: Throwaway) -> Grant:
    """Grant what lies on this machine; in the project, over a place of the copy's. Raises ReplayError."""
    if not contains(places.workdir, inside):
        return Grant(inside, Access.READ, why)
    below = inside[len(places.workdir) :]
    if not below or not folders.place(below, folder=os.path.isdir(source)):
        raise ReplayError(f"cannot show {source} in the project's copy: something else is in its place")
    return Grant(inside, Access.READ, why, source)


def _granted(given: Given, policy: Policy, home: str) -> Iterator[Grant]:
    """Yield what the caller grants: real paths of this machine."""
    own = policy if given.policy is not None else Policy()
    for paths, access, why in (
        (own.read_paths, Access.READ, "read_paths"),
        (own.write_paths, Access.WRITE, "write_paths"),
        (given.read, Access.READ, "-read"),
        (given.write, Access.WRITE, "-write"),
    ):
        yield from (granted(path, access, why, home) for path in paths)


def _once(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    chosen: dict[str, Grant] = {}
    for grant in grants:
        if grant.path not in chosen or grant.access is Access.WRITE:
            chosen[grant.path] = grant
    return tuple(chosen.values())


def _kept_back(recalled: Recalled, how: str) -> Iterator[str]:
    """Yield paths in the project that were kept from the agent."""
    workdir = recalled.start.working_dir
    for line in recalled.boundary.withheld if recalled.boundary is not None else ():
        path = line.removeprefix(how)
        if line.startswith(how) and path.startswith(f"{workdir}/") and os.path.normpath(path) == path:
            yield path


def _masked(recalled: Recalled, folders: Throwaway) -> tuple[str, ...]:
    """List what was masked, with a file in the copy for each: the agent saw the name, and no content."""
    paths = tuple(_kept_back(recalled, _MASKED))
    for path in paths:
        folders.place(path[len(recalled.start.working_dir) :], folder=False)
    return paths


def _mounted(recalled: Recalled, folders: Throwaway) -> Iterator[tuple[str, bytes]]:
    """Yield the files that were shown with placeholders in them, where no file of the system's is."""
    workdir = recalled.start.working_dir
    for path, content in recalled.mounted.items():
        if _may_be_shown(path):
            if contains(workdir, path) and path != workdir:
                folders.place(path[len(workdir) :], folder=False)
            yield path, content


def _may_be_shown(path: str) -> bool:
    plain = _is_plain(path) and path != "/" and "\0" not in path
    return plain and not within(path, _NOT_SHOWN_AT) and not project.belongs_to_system(path)


def _home(recalled: Recalled) -> str:
    home = recalled.env.get("HOME", "/")
    if not _is_plain(home) or within(home, _NOT_SHOWN_AT):
        raise ReplayError(f"its home directory {visible(home)} is none that a run of hark's had")
    return home


def _seen_as(recalled: Recalled) -> tuple[int, int] | None:
    if recalled.boundary is None:
        return None
    ids = (recalled.boundary.uid, recalled.boundary.gid)
    if not all(may_be_seen(one) for one in ids):
        raise ReplayError(f"its agent ran as uid {ids[0]} and gid {ids[1]}, which no agent of hark's does")
    return ids


def _inherits(recalled: Recalled) -> Inherited | None:
    """What the agent gets of a caller's process; None: what it has here. Raises ReplayError."""
    boundary = recalled.boundary
    if boundary is None or not (boundary.umask or boundary.ignored):
        return None
    found = Inherited.read(boundary.umask, boundary.ignored)
    if found is None:
        told = " ".join((boundary.umask, *boundary.ignored))
        raise ReplayError(f"its agent began with the mask and ignored signals {visible(told)}, and none does")
    return found


def _processors(recalled: Recalled) -> processors.Processors | None:
    """How many the agent is told that there are; None: as many as there are. Raises ReplayError."""
    if recalled.boundary is None or not recalled.boundary.processors:
        return None
    counts = processors.Processors(recalled.boundary.processors, recalled.boundary.online)
    if not processors.is_plausible(counts):
        told = f"{counts.usable} processors of {counts.online}"
        raise ReplayError(f"its agent was told of {told}, and no machine of hark's has that")
    return None if counts == processors.here() else counts


def _counted(counts: processors.Processors | None) -> Mapping[str, bytes]:
    if counts is None or counts.online == processors.here().online:
        return {}
    return processors.files(counts.online, processors.read_file)


def _uncounted(recalled: Recalled, plan: Plan) -> Iterator[str]:
    counts = _processors(recalled)
    if counts is not None and plan.processors is None:
        yield (
            f"its agent had {counts.usable} processors and has {processors.here().usable} here, which nested "
            "sandboxes show as it is"
        )


def _executables(
    policy: Policy, found: Found, places: Places, home: str, grants: tuple[Grant, ...]
) -> tuple[str, ...] | None:
    """Resolve `exec` on this machine: what may be executed is never more than what the policy names."""
    if policy.executables is None:
        return None
    try:
        files = resolve_executables(policy.executables, found.host, places.path, home, grants)
    except HarkError as error:
        raise ReplayError(f"its policy's exec cannot be had on this machine: {error}") from None
    return tuple(places.inside(path) for path in files)


def _differences(
    recalled: Recalled, found: Found, policy: Policy, given: Given, grants: tuple[Grant, ...]
) -> Iterator[str]:
    """Yield what the agent will not find as it was recorded, before anything comes of it."""
    if found.replaced:
        yield f"{visible(recalled.start.argv[0])} is not on this machine; {found.host} is run in its place"
    shown = [grant.path for grant in grants]
    missing = [path for path in policy.read_paths if not within(path, shown)] if given.policy is None else []
    if missing:
        words = ", ".join(visible(path) for path in missing)
        yield f"the recorded run could read {words}; if you have the same, show it with -read"
    mounts = [spec.name for spec in policy.secrets if spec.mount is not None]
    if mounts and given.policy is None and not any(_may_be_shown(path) for path in recalled.mounted):
        yield f"the files that secrets.{mounts[0]} was mounted in are not shown: a replay reads no secret"
