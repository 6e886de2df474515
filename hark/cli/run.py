"""`hark run`: a command inside the boundary, and a bundle of everything that crossed it."""

import os
from typing import Final

from hark.cli import options as shared
from hark.cli.spec import Args, Option, Spec
from hark.cli.streams import Teller

SPEC: Final = Spec(
    "run",
    "run a command inside the boundary and record everything that crosses it",
    (
        Option(
            "policy",
            "what the command may reach; without one, ~/.config/hark/policy.toml, or nothing",
            "FILE",
        ),
        Option("follow-policy", "read the policy again when it changes: what may be reached changes with it"),
        Option("o", "where the sealed bundle goes; without it, where `hark ls` finds it", "BUNDLE"),
        Option("key", "sign with this private key instead of your own", "FILE"),
        shared.READ,
        shared.WRITE,
        Option("workdir", "the project directory, writable; the current one by default", "DIR"),
        Option("wait-children", "last until every process of the command has ended, not only the first"),
        Option(
            "upstream",
            "dial this address for an allowed host; may be repeated",
            "HOST=ADDR[:PORT]",
            repeat=True,
        ),
        Option(
            "upstream-ca", "trust these PEM roots for upstreams too; may be repeated", "FILE", repeat=True
        ),
        Option(
            "unsafe-allow-all", "deny nothing: every host and port may be reached, and the record says so"
        ),
        Option("no-snapshot", "keep no copy of the project in the bundle; a replay then has no files"),
        Option("anchor", "put the signed tree head into a transparency log when the run is sealed"),
        *shared.ANCHORED,
        Option("via-proxy", "dial upstreams through the proxy that HTTPS_PROXY and HTTP_PROXY name"),
    ),
    about=(
        "The command sees the system read-only, its own interpreter, and the project directory. It reaches\n"
        "only hosts that the policy allows, and holds a placeholder for each of the policy's secrets.\n"
        "Exits with the command's own code; 125 if hark refused to start it, 124 if a limit of the policy\n"
        "ended it, or a server that sent a secret which is not bound to it, 123 if the record failed,\n"
        "or, in the place of 0, if what hark has to say at the end could be written nowhere."
    ),
    command="the program to run and its arguments",
    refused=125,
)

TELLER: Final = Teller()
say: Final = TELLER.say
show: Final = TELLER.show


def run(args: Args) -> int:
    """Run the command and return its exit code."""
    from hark import starting

    starting.begin()
    starting.hold_collector()
    starting.make_networks()
    from hark.cli.anchoring import asked_for_run
    from hark.plan.preparation import Options
    from hark.running.run import run as run_command

    options = Options(
        argv=args.command,
        policy=args.text("policy"),
        follow_policy=args.flag("follow-policy"),
        output=args.text("o"),
        key=args.text("key"),
        read=args.texts("read"),
        write=args.texts("write"),
        workdir=args.text("workdir"),
        wait_children=args.flag("wait-children"),
        upstreams=args.texts("upstream"),
        upstream_roots=args.texts("upstream-ca"),
        via_proxy=args.flag("via-proxy"),
        snapshot=not args.flag("no-snapshot"),
        allow_all=args.flag("unsafe-allow-all"),
        anchor=asked_for_run(args),
    )
    code = run_command(options, os.environ, terminal=_has_terminal(), say=say, show=show)
    return TELLER.code(code)


def _has_terminal() -> bool:
    """Give the agent a terminal of its own where it would have had the caller's, which it must not hold."""
    return any(os.isatty(descriptor) for descriptor in range(3))
