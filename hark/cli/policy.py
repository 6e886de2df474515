"""`hark policy`: what a policy means, what it makes of one URL, which one a run needed. Starts nothing."""

from typing import TYPE_CHECKING, Final

from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import BundleError, ReplayError, TruncatedError, UsageError

if TYPE_CHECKING:
    from hark.policy.facts import Fact
    from hark.policy.model import Policy

SPEC: Final = Spec(
    "policy",
    "say what a policy means or makes of one URL, or derive one from a run",
    options=(Option("method", "with explain: the request's method; GET by default", "METHOD"),),
    positionals=(
        Positional("check|explain|derive", "what to say"),
        Positional("FILE", "the policy; with derive, a bundle"),
        Positional("URL", "with explain: https://HOST/PATH, or tcp://HOST:PORT", optional=True),
    ),
    about="""\
check prints what the policy means, one line for each fact, and then warnings: what in it may mean more
than its author thinks, and what of it hark run would refuse here and now. A policy that is none is
refused with its place and its likely meaning.

explain prints the verdict on one request as it would be now, the rule with its line, what would be
recorded, and which secrets may be put in where.

derive prints a policy that allows the hosts and ports which the run in a bundle was let through to, and
nothing else: such as one that was started with --unsafe-allow-all. The bundle is verified first. The agent
chose these hosts: read them before you use it.

Exit code of check: 0, also with warnings. Of explain: 0 allowed, 1 denied. Of both: 125 the file is no
policy, 2 usage. Of derive: 0, 1 the bundle is broken, 3 derived from what there is of it.""",
)

EXIT_DENIED: Final = 1


def run(args: Args) -> int:
    """Check or explain."""
    from hark.plan.policy_file import load

    what, url = args.positional("check|explain|derive"), args.optional("URL")
    if what == "explain" and "://" in args.positional("FILE"):
        raise UsageError("the policy comes first: hark policy explain FILE URL")
    if what != "explain" and (url is not None or args.texts("method")):
        raise UsageError(f"hark policy {what} takes a FILE alone; URL and -method belong to explain")
    if what == "explain" and url is None:
        raise UsageError("hark policy explain needs a FILE and a URL")
    if what == "derive":
        return _derive(args.positional("FILE"))
    policy = load(args.positional("FILE"))
    return _check(policy) if url is None else _explain(policy, url, args.text("method") or "GET")


def _check(policy: "Policy") -> int:
    import os

    from hark.cli import output
    from hark.plan.foreseen import refusals
    from hark.policy.facts import facts
    from hark.policy.surprises import surprises
    from mediator.wall import local_now

    for fact in facts(policy):
        output.say(_line(policy, fact))
    for fact in surprises(policy, local_now()):
        output.say(_line(policy, fact._replace(words=f"warning: {fact.words}")))
    for fact in refusals(policy, os.environ, os.getcwd()):
        output.say(_line(policy, fact._replace(words=f"warning: hark run would refuse here: {fact.words}")))
    return 0


def _line(policy: "Policy", fact: "Fact") -> str:
    place = policy.source if fact.line is None else f"{policy.source}:{fact.line}"
    return f"{place}: {fact.words}"


def _derive(bundle: str) -> int:
    from hark.cli import output
    from hark.cli.bundles import checked, own_key
    from hark.policy.deriving import derived
    from hark.unchanged import Unchanged
    from hark.verify.result import BROKEN, REJECTED, TRUNCATED
    from hark.verify.steps import verify

    path = checked(bundle)
    result = verify(path, own=own_key())
    if result.verdict in {BROKEN, REJECTED}:
        raise BundleError(f"no policy is derived from a bundle that does not verify: {result.line()}")
    try:
        lines = list(derived(Unchanged(path, result).frames()))
    except ReplayError:
        raise BundleError(f"{path} was changed while it was read") from None
    for line in lines or ["# nothing was reached, so nothing has to be allowed"]:
        output.say(line)
    output.error_line(f"derived from {path}, which is {result.line()}")
    return TruncatedError.exit_code if result.verdict == TRUNCATED else 0


def _explain(policy: "Policy", url: str, method: str) -> int:
    from hark.cli import output
    from hark.policy.decide import Deny
    from hark.policy.explain import decide, explained, target
    from mediator.wall import local_now

    asked, now = target(url, method), local_now()
    verdict = decide(policy, asked, now)
    for line in explained(policy, asked, verdict, now):
        output.say(line)
    return EXIT_DENIED if isinstance(verdict, Deny) else 0
