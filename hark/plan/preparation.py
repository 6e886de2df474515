"""From a command line to a complete plan: everything that can be refused is refused here, before any process.

Reads the policy, the secrets, the command and the project. Forks nothing, opens no socket, writes no file.
"""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hark.errors import PolicyError
from hark.given import second_name
from hark.installation import refuse_search_path, shield
from hark.places import expanded, within
from hark.plan import beside, environment, follow, git, mounted, nesting, outward, policy_file, project
from hark.plan.caller import Caller, home_of
from hark.plan.command import find_command, wholes
from hark.plan.disclosure import finder, refuse_in_policy, refuse_told
from hark.plan.executables import resolve as resolve_executables
from hark.plan.grants import Asked, active, asked_to_write, settle, with_stubs, writable
from hark.plan.secrets import resolve
from hark.plan.toolservers import STUBS, ToolServers, make_ready, refuse_taken
from hark.policy.model import Policy, Secret, Typed
from hark.repeatable import determinism
from launcher import ssh
from launcher.caller import inherited
from launcher.plan import Grant, Plan

if TYPE_CHECKING:
    from hark.anchoring.making import Anchoring
    from mediator.proxy import Proxies

CA_BUNDLE: Final = "/run/hark/ca-bundle.pem"
"""Where the agent finds the host's roots and the run's CA as one file: the same path on every machine."""
JAVA_STORE: Final = "/run/hark/truststore.p12"


@dataclass(frozen=True, slots=True)
class Options:
    """What `hark run` was told, as written on its command line."""

    argv: tuple[str, ...]
    policy: str | None = None
    output: str | None = None
    key: str | None = None
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    workdir: str | None = None
    upstreams: tuple[str, ...] = ()
    upstream_roots: tuple[str, ...] = ()
    wait_children: bool = False
    via_proxy: bool = False
    follow_policy: bool = False
    allow_all: bool = False
    """`--unsafe-allow-all`."""
    snapshot: bool = True
    """Not with `-no-snapshot`."""
    anchor: "Anchoring | None" = None
    """What `-anchor` asks for, with the options that go with it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can be launched. Holds real secrets: never logged or recorded."""

    plan: Plan
    policy: Policy
    secrets: tuple[Secret, ...]
    upstreams: Mapping[str, str]
    upstream_roots: tuple[bytes, ...]
    proxies: "Proxies | None"
    project: project.Project
    toolservers: ToolServers = field(default_factory=ToolServers)
    unseen: tuple[str, ...] = ()
    """What of the caller's PATH the agent does not see, as grants that would show its programs."""
    controlled: determinism.Determinism = field(default_factory=determinism.Determinism)
    followed: str | None = None
    """The real path of a policy that is read again while the run goes on."""
    snapshot: bool = True
    """Keep a copy of the project on the record."""
    mounted: Mapping[str, bytes] = field(default_factory=dict)
    """Files that the agent is shown with placeholders in them, by path."""


def prepare(options: Options, environ: Mapping[str, str], *, terminal: bool) -> Prepared:
    """Read everything one run needs. Raises PolicyError or CommandError, with nothing started or written."""
    from mediator import trust

    home = home_of(environ)
    policy = policy_file.read_policy(options.policy, environ, allow_all=options.allow_all)
    workdir = os.path.realpath(options.workdir or os.getcwd())
    surveyed = project.survey(workdir, home, policy.unmask, policy.unprotect, policy.mask)
    path = environ.get("PATH", environment.DEFAULT_PATH)
    command = find_command(options.argv[0], workdir, path, home, environ)
    needs = (*command.needs, *active(environ, home, workdir))
    asked = Asked(options.argv[0], options.read, options.write)
    grants = settle(asked, policy, needs, workdir, home)
    surveyed = beside.surveyed(surveyed, asked_to_write(grants), home)
    _refuse_own(options, policy, home, own_places(environ))
    refuse_search_path(environ, writable(grants))
    caller = Caller(environ, home, tuple(writable(grants)))
    secrets = held_secrets(policy, caller)
    files = mounted.shown(policy.secrets, secrets, caller)
    servers = make_ready(policy, caller, secrets)
    find = finder((*secrets, *servers.secrets))
    refuse_in_policy(policy, find)
    grants = with_stubs(grants, servers.needs)
    env = _variables(environ, home, grants, policy, secrets)
    if servers.programs:
        refuse_taken(policy.mcp, env["PATH"])
        env["PATH"] += f":{STUBS}"
    executables = _executables(policy, command.executable, env["PATH"], home, grants)
    controlled = determinism.arrange(policy.replay, environ, writable(grants), nested=policy.nested_sandboxes)
    env |= determinism.variables(controlled, env)
    java = JAVA_STORE if _has_java(env["PATH"]) else None
    plan = Plan(
        argv=options.argv,
        executable=command.executable,
        workdir=workdir,
        inherits=inherited(),
        env=trust.variables(CA_BUNDLE, java, determinism.java_options(controlled))
        | env
        | {secret.name: secret.placeholder for secret in secrets},
        grants=grants,
        files={**ssh.client_files(), **servers.files, **files},
        masked=(*surveyed.masked, *(_secret_files(policy, caller) - files.keys())),
        protected=(
            *(path for one in surveyed.everywhere() for path in one.protected),
            *_own_inputs(options, policy),
            *_programs_kept(executables, writable(grants)),
        ),
        hidden=(*own_places(environ), *_own_key(options)),
        home=home,
        limits=policy.limits,
        record_input=policy.replay.typed is Typed.RECORDED,
        terminal=terminal,
        executables=executables,
        nested=policy.nested_sandboxes,
        published=tuple(one.port for one in policy.publish),
        shim=controlled.shim,
        seed=controlled.seed,
        fixed_addresses=bool(controlled.seed),
        wait_for_all=options.wait_children,
    )
    if plan.nested:
        nesting.check(plan, surveyed.watched_everywhere())
    upstreams = outward.upstreams(options.upstreams, policy)
    refuse_told(find, plan.argv, plan.env, _paths_told(plan, policy, upstreams))
    unseen = tuple(wholes(environment.unseen(path, [g.path for g in grants]), home, environ))
    roots = outward.roots(options.upstream_roots)
    proxies = outward.proxies(environ, plan) if options.via_proxy else None
    held = (*secrets, *servers.secrets)
    followed = _followed(options, policy, plan)
    parts = plan, policy, held, upstreams, roots, proxies, surveyed, servers, unseen, controlled, followed
    return Prepared(*parts, snapshot=options.snapshot, mounted=files)


def _user(environ: Mapping[str, str]) -> str:
    """Name who the agent is: the caller, or the name that the launcher gives to what root starts."""
    if os.getuid() == 0:
        return "agent"
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return environ.get("USER", "user")


def held_secrets(policy: Policy, caller: Caller) -> tuple[Secret, ...]:
    """Read every secret, and refuse a value that could not be told from ordinary traffic."""
    from mediator.credentials import check_value, placeholder_for
    from mediator.placeholders import check_guess

    secrets = resolve(policy.secrets, caller, placeholder_for)
    for secret in secrets:
        check_value(secret.name, secret.value)
        check_guess(secret.name, secret.value)
    return secrets


def _variables(
    environ: Mapping[str, str],
    home: str,
    grants: tuple[Grant, ...],
    policy: Policy,
    secrets: tuple[Secret, ...],
) -> dict[str, str]:
    """Build the agent's environment, as far as it does not depend on tool servers and the run's CA."""
    env = environment.build(
        environ,
        home=home,
        user=_user(environ),
        visible=[grant.path for grant in grants],
        passed=policy.env_pass,
        assigned=policy.env_set,
    )
    return env | git.variables(policy.git_https, secrets, policy.env_set)


def _executables(
    policy: Policy, command: str, path: str, home: str, grants: tuple[Grant, ...]
) -> tuple[str, ...] | None:
    if policy.executables is None:
        return None
    return resolve_executables(policy.executables, command, path, home, grants)


def _programs_kept(executables: tuple[str, ...] | None, places: list[str]) -> tuple[str, ...]:
    """List what of hark, and of what may be executed, lies where the agent may write: it is read-only there.

    The kernel knows a program that may be executed by its file, and not by what is in it.
    """
    return (*shield(places), *(program for program in executables or () if within(program, places)))


def _has_java(path: str) -> bool:
    """Tell whether a JVM is at hand: its option is announced on stderr, so others are spared it."""
    return any(os.access(f"{directory}/java", os.X_OK) for directory in path.split(":"))


def _paths_told(plan: Plan, policy: Policy, upstreams: Mapping[str, str]) -> dict[str, str]:
    """Return the paths and addresses that the record names, by what each is called."""
    return {
        "the policy's path": policy.source,
        "the project directory's path": plan.workdir,
        "a path that the agent is granted": "\n".join(grant.path for grant in plan.grants),
        "-upstream": "\n".join(f"{host}={address}" for host, address in upstreams.items()),
    }


def _secret_files(policy: Policy, caller: Caller) -> set[str]:
    """List the files that secrets are read from: they may lie inside what the agent can see."""
    files = [spec.file for spec in policy.secrets if spec.file is not None]
    return {os.path.realpath(caller.expanded(file)) for file in files}


def _own_inputs(options: Options, policy: Policy) -> list[str]:
    """List the files that decide over the next run: the agent may read its policy, not rewrite it."""
    read = policy.source if policy.raw or options.policy is not None else None
    given = [options.policy, read, *options.upstream_roots]
    return [os.path.realpath(path) for path in dict.fromkeys(given) if path is not None]


def own_places(environ: Mapping[str, str]) -> tuple[str, ...]:
    """List where hark keeps its key and its bundles: never visible, whatever was granted."""
    from hark.bundle.store import runs_directory
    from hark.keys import user_key_path

    places = (os.path.dirname(user_key_path(environ)), os.path.dirname(runs_directory(environ)))
    return tuple(os.path.realpath(place) for place in places)


def _refuse_own(options: Options, policy: Policy, home: str, own: tuple[str, ...]) -> None:
    """Refuse a grant of what no agent is ever shown: it would do nothing. Raises PolicyError."""
    for option, paths in (
        ("-read", options.read),
        ("-write", options.write),
        ("read_paths", policy.read_paths),
        ("write_paths", policy.write_paths),
    ):
        for path in paths:
            if within(os.path.realpath(expanded(path, home)), own):
                raise PolicyError(
                    f"{option} names {path}, which is hark's own and which no agent is shown; leave it out, "
                    "and copy what the agent needs of it elsewhere"
                )


def _own_key(options: Options) -> tuple[str, ...]:
    """Name the key of `-key`: it signs the record, so it is never visible, wherever it lies."""
    if options.key is None:
        return ()
    path = os.path.realpath(options.key)
    if os.path.isfile(path) and os.stat(path).st_nlink > 1:
        raise PolicyError(second_name(f"-key {options.key}"))
    return (path,)


def _followed(options: Options, policy: Policy, plan: Plan) -> str | None:
    if not options.follow_policy:
        return None
    if policy.source == Policy().source:
        raise PolicyError("-follow-policy has nothing to follow: there is no policy; name one with -policy")
    return follow.check(policy.source, writable(plan.grants))
