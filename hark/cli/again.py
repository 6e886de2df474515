"""What commands have alike that start a recorded command again: `replay`, `fork`, and `bisect` and `compare`.

What always holds: they read the same words into the same request, ask the same question at the terminal, and
end with the same codes: 2 for what is wrong with the command line or the policy, 4 for what keeps the run
from being started again.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hark.cli.spec import Args
from hark.errors import ConfinementError, PolicyError, RecordError, ReplayError, UsageError

if TYPE_CHECKING:
    from hark.rerun.admitting import Ask
    from hark.rerun.replaying import Asked

PASSED_ON: Final = (
    "policy", "upstream", "upstream-ca", "trusted-keys", "read", "write", "workdir", "key",
)  # fmt: skip
"""Options that a command which makes forks hands to each of them as they are."""
SWITCHES: Final = ("via-proxy", "trust-bundle")
"""Those without a value."""
MOST_SECONDS: Final = 7 * 24 * 3600


def asked(args: Args, policy: str | None = None) -> "Asked":
    """Return what is to be started again, and with what of this machine.

    `policy` is the one that takes the recorded one's place from the beginning. That is also a word for a
    stranger's bundle, where nobody else is asked anything; a fork's asks real servers and is none.
    """
    from hark.cli.bundles import checked
    from hark.rerun.replaying import Asked
    from hark.rerun.restaging import Given

    return Asked(
        bundle=checked(args.positional("BUNDLE")),
        given=Given(policy, args.texts("read"), args.texts("write"), args.text("workdir")),
        trust=args.flag("trust-bundle"),
        trusted_keys=args.text("trusted-keys"),
        output=args.text("o"),
        key=args.text("key"),
    )


@contextmanager
def refusals() -> Iterator[None]:
    """Give what goes wrong before or beside the run its exit code. A patch's fault is left to the command."""
    try:
        yield
    except PolicyError as error:
        raise UsageError(str(error)) from error
    except (ConfinementError, RecordError) as error:
        raise ReplayError(str(error)) from error


def passed_on(
    args: Args, names: Iterable[str] = PASSED_ON, switches: Iterable[str] = SWITCHES
) -> tuple[str, ...]:
    """Return what each fork is told as it stands on our own command line."""
    given = [f"-{name}={value}" for name in names for value in args.texts(name)]
    return (*given, *(f"-{name}" for name in switches if args.flag(name)))


def count(args: Args, name: str, default: int, most: int, *, least: int = 1) -> int:
    """Return the option's number. Raises UsageError for one beyond its bounds."""
    number = args.number(name)
    if number is None:
        return default
    if not least <= number <= most:
        raise UsageError(f"-{name} takes a number from {least} to {most}")
    return number


def time_limit(args: Args) -> int | None:
    """Return how many seconds -timeout gives each fork; None where it is not given."""
    return None if args.number("timeout") is None else count(args, "timeout", 0, MOST_SECONDS)


def set_output_apart() -> int:
    """Lead what the command prints to standard error; return a descriptor of what standard output was."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1, inheritable=True)
    return kept


def print_json(descriptor: int, record: dict[str, object]) -> None:
    """Put standard output back in its place, and print the verdict there."""
    from hark.cli.output import say_json

    os.dup2(descriptor, 1, inheritable=True)
    os.close(descriptor)
    say_json(record)


def asker() -> "Ask | None":
    """Ask at the terminal, where somebody sits at it."""
    if not (os.isatty(0) and os.isatty(2)):
        return None
    from hark.cli.run import show
    from hark.rerun.admitting import ALWAYS, ONCE

    def ask(name: str) -> str:
        always = f", [t]rust {name} from now on" if name else ""
        show(f"Run it? [y]es, this once{always}, or [N]o: ")
        answer = sys.stdin.readline().strip().lower()
        return {"y": ONCE, "yes": ONCE, "t": ALWAYS, "trust": ALWAYS}.get(answer, "")

    return ask
