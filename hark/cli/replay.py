"""`hark replay`: a recorded run once more, answered from its bundle, and whether it did the same."""

import os
import sys
from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import ConfinementError, PolicyError, RecordError, ReplayError, UsageError

if TYPE_CHECKING:
    from hark.admitting import Ask

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
        "Exit code: 0 equal, 1 diverged, 2 usage, 3 the bundle breaks off, 4 not replayable."
    ),
)


def run(args: Args) -> int:
    """Replay, say the verdict, and return its exit code."""
    from hark.installation import isolate_imports

    isolate_imports()  # before anything is imported from a place that an earlier agent may have written to
    from hark.cli.bundles import checked
    from hark.cli.run import say
    from hark.replaying import Asked, replay
    from hark.restaging import Given

    given = Given(args.text("policy"), args.texts("read"), args.texts("write"), args.text("workdir"))
    asked = Asked(
        bundle=checked(args.positional("BUNDLE")),
        given=given,
        trust=args.flag("trust-bundle"),
        trusted_keys=args.text("trusted-keys"),
        realtime=args.flag("realtime"),
        keep=args.text("keep"),
        truncated=args.flag("truncated"),
        renaming=args.flag("allow-renaming"),
        output=args.text("o"),
        key=args.text("key"),
    )
    answer = set_output_apart() if args.flag("json") else None
    try:
        course = replay(asked, os.environ, say=say, ask=asker(), meanwhile=load_judging)
    except PolicyError as error:
        raise UsageError(str(error)) from error
    except (ConfinementError, RecordError) as error:
        raise ReplayError(str(error)) from error
    from hark.judging import judge

    judgement = judge(course)
    for line in judgement.lines():
        say(line)
    if answer is not None:
        print_json(answer, judgement.record())
    return judgement.exit_code


def load_judging() -> None:
    """Load what the verdict needs."""
    import hark.judging  # noqa: F401


def set_output_apart() -> int:
    """Lead what the command prints to standard error; return a descriptor of what standard output was."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1, inheritable=True)
    return kept


def print_json(descriptor: int, record: dict[str, object]) -> None:
    from hark.cli.output import say_json

    os.dup2(descriptor, 1, inheritable=True)
    os.close(descriptor)
    say_json(record)


def asker() -> "Ask | None":
    """Ask at the terminal, where somebody sits at it."""
    if not (os.isatty(0) and os.isatty(2)):
        return None
    from hark.admitting import ALWAYS, ONCE
    from hark.cli.run import show

    def ask(name: str) -> str:
        always = f", [t]rust {name} from now on" if name else ""
        show(f"Run it? [y]es, this once{always}, or [N]o: ")
        answer = sys.stdin.readline().strip().lower()
        return {"y": ONCE, "yes": ONCE, "t": ALWAYS, "trust": ALWAYS}.get(answer, "")

    return ask
