"""From a job to what a run is prepared with: policy, credentials, environment; no grant, and no boundary.

Always: what a policy says that only a boundary could keep is refused by its key, and not passed over. Paths
that a policy grants are no more than the test can see anyway, and are not held against it.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from hark.errors import PolicyError
from hark.inprocess.words import Job
from hark.plan import environment, outward, policy_file
from hark.plan.caller import Caller, home_of
from hark.plan.disclosure import finder, refuse_in_policy, refuse_told
from hark.plan.preparation import Prepared, held_secrets
from hark.plan.project import Project
from hark.policy.model import Limits, Policy, Secret
from hark.rerun.recalled import Recalled
from launcher.plan import Plan
from mediator.playback.standins import stand_ins

_EVERYWHERE: Final = ("/",)


def to_record(job: Job, environ: Mapping[str, str]) -> Prepared:
    """Return what a recording of the test is prepared with. Raises PolicyError."""
    policy = policy_file.read_policy(job.policy, environ)
    for key in beyond(policy):
        raise PolicyError(
            f"policy {policy.source} has {key}, which only a boundary keeps: record the test with "
            "--hark-way=boundary, or under a policy without it"
        )
    caller = Caller(environ, home_of(environ), ())
    secrets = held_secrets(policy, caller)
    find = finder(secrets)
    refuse_in_policy(policy, find)
    env = environment.build(
        environ,
        home=caller.home,
        user=environ.get("USER", "user"),
        visible=_EVERYWHERE,
        passed=policy.env_pass,
        assigned=policy.env_set,
    )
    env |= {secret.name: secret.placeholder for secret in secrets}
    refuse_told(find, job.argv, env, {"the project directory's path": os.path.realpath(job.workdir)})
    return _prepared(job, policy, secrets, env, outward.upstreams((), policy))


def beyond(policy: Policy) -> Iterator[str]:
    """Yield the keys of a policy that nothing here could keep."""
    if policy.mcp:
        yield f"[mcp.{policy.mcp[0].name}]"
    if policy.publish:
        yield "[[publish]]"
    if policy.executables is not None:
        yield "exec"
    if policy.limits != Limits():
        yield "[limits]"
    yield from (f"secrets.{spec.name} mount" for spec in policy.secrets if spec.mount is not None)


def to_play(job: Job, recalled: Recalled, policy: Policy) -> Prepared:
    """Return what a replay of the test is prepared with: stand-ins, and the recorded environment's words."""
    secrets = stand_ins(policy.secrets, recalled.env)
    return _prepared(job, replace(policy, publish=()), secrets, dict(recalled.env), {})


def shown(prepared: Prepared) -> dict[str, str]:
    """Return what of the run's environment the test is shown: placeholders, and what the policy sets."""
    named = {secret.name for secret in prepared.secrets} | set(prepared.policy.env_set)
    return {name: value for name, value in prepared.plan.env.items() if name in named}


def _prepared(
    job: Job,
    policy: Policy,
    secrets: tuple[Secret, ...],
    env: dict[str, str],
    upstreams: Mapping[str, str],
) -> Prepared:
    plan = Plan(
        argv=job.argv,
        executable=sys.executable,
        workdir=os.path.realpath(job.workdir),
        env=env,
        grants=(),
        home=env.get("HOME", "/"),
    )
    project = Project(plan.workdir, (), (), ())
    return Prepared(plan, policy, secrets, upstreams, (), None, project, snapshot=False)
