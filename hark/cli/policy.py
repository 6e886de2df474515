"""`hark policy`: what a policy means in words, and what it makes of one URL. Starts nothing."""

from typing import TYPE_CHECKING, Final

from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import UsageError

if TYPE_CHECKING:
    from hark.policy.facts import Fact
    from hark.policy.model import Policy

SPEC: Final = Spec(
    "policy",
    "say what a policy means, or what it makes of one URL",
    options=(Option("method", "with explain: the request's method; GET by default", "METHOD"),),
    positionals=(
        Positional("check|explain", "what to say"),
        Positional("FILE", "the policy"),
        Positional("URL", "with explain: https://HOST/PATH, or tcp://HOST:PORT", optional=True),
    ),
    about="""\
check prints what the policy means, one line for each fact, and then warnings: what in it may mean more
than its author thinks, and what of it hark run would refuse here and now. A policy that is none is
refused with its place and its likely meaning.

explain prints the verdict on one request as it would be now, the rule with its line, what would be
recorded, and which secrets may be put in where.

Exit code of check: 0, also with warnings. Of explain: 0 allowed, 1 denied. Of both: 125 the file is no
policy, 2 usage.""",
)

EXIT_DENIED: Final = 1


def run(args: Args) -> int:
    """Check or explain."""
    from hark.policy_file import load

    what, url = args.positional("check|explain"), args.optional("URL")
    if what not in ("check", "explain"):
        raise UsageError(
            f"hark policy has no {what!r}; write hark policy check FILE or hark policy explain FILE URL"
        )
    if what == "check" and (url is not None or args.texts("method")):
        raise UsageError("hark policy check takes a FILE alone; URL and -method belong to explain")
    if what == "explain" and url is None:
        raise UsageError("hark policy explain needs a FILE and a URL")
    policy = load(args.positional("FILE"))
    return _check(policy) if url is None else _explain(policy, url, args.text("method") or "GET")


def _check(policy: "Policy") -> int:
    import os

    from hark.cli import output
    from hark.foreseen import refusals
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
