"""`hark replay`: a recorded run once more, answered from its bundle, and whether it did the same."""

import os
from typing import Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec

SPEC: Final = Spec(
    "replay",
    "run a recorded agent again from its bundle, without network, and compare",
    (
        Option("policy", "run it under this policy instead of the bundle's", "FILE"),
        *options.TRUST,
        options.READ,
        options.WRITE,
        options.COPIED,
        options.KEEP,
        Option("o", "where the replay's own bundle goes; without it, where `hark ls` finds it", "OUT"),
        options.SIGN,
        Option("realtime", "wait as long for each answer as when it was recorded"),
        Option("truncated", "replay a bundle that breaks off, as far as it goes"),
        Option("allow-renaming", "take identifiers that are drawn anew for the recorded ones, and list them"),
        options.VERDICT,
    ),
    positionals=(Positional("BUNDLE", "the bundle to replay, or the id of a run of this machine"),),
    about=(
        "The command starts as it was recorded, on a copy of its project, and gets the recorded answers\n"
        "without the waits. Nothing is dialled, no secret is read, and no file of yours is shown or written\n"
        "unless you name it. It has to do the same as it did: the first difference ends it.\n"
        "\n"
        "Exit code: 0 equal, 1 diverged, 2 usage, 3 the bundle breaks off, 4 not replayable, 130 stopped\n"
        "by Ctrl-C."
    ),
)


def run(args: Args) -> int:
    """Replay, say the verdict, and return its exit code."""
    from hark import starting

    starting.begin()
    starting.hold_collector()
    starting.leave_out_tls()
    starting.make_networks()
    from dataclasses import replace

    from hark.cli import again
    from hark.cli.run import say
    from hark.rerun.replaying import replay

    asked = replace(
        again.asked(args, args.text("policy")),
        realtime=args.flag("realtime"),
        keep=args.text("keep"),
        truncated=args.flag("truncated"),
        renaming=args.flag("allow-renaming"),
    )
    answer = again.set_output_apart() if args.flag("json") else None
    with again.refusals():
        course = replay(asked, os.environ, say=say, ask=again.asker(), meanwhile=load_judging)
    from hark.rerun.judging import judge

    judgement = judge(course)
    for line in judgement.lines():
        say(line)
    if answer is not None:
        again.print_json(answer, judgement.record())
    return judgement.exit_code


def load_judging() -> None:
    """Load what the verdict needs, and what removes the copy."""
    import shutil  # noqa: F401

    import hark.rerun.judging  # noqa: F401
