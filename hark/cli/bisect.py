"""`hark bisect`: which span of a recorded message led to an outcome, found by forks without some of it."""

import os
from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import PatchError, UsageError

if TYPE_CHECKING:
    from hark.bisect.session import Wanted
    from hark.bisect.units import Level

MOST_JOBS: Final = 64
MOST_RUNS: Final = 100_000
MOST_TRIALS: Final = 1000

SPEC: Final = Spec(
    "bisect",
    "find the span of a recorded message that led to an outcome",
    (
        Option("at", "the message: an event's number, HOST/PATH#K, last-request or all", "N", required=True),
        Option("until", "the outcome: what happens in the run, and not without it", "EXPR", required=True),
        Option("by", "how fine: paragraph, sentence (the default) or word", "LEVEL"),
        Option("search", "ddmin (the default), or probable, which guesses and learns", "NAME"),
        Option("jobs", "how many forks run side by side (2)", "N"),
        Option("max-runs", "end after so many forks (200)", "N"),
        Option("trials", "ask each question in so many forks, for servers whose answers vary (1)", "N"),
        Option("tolerate", "take the outcome for gone also where it is seen so often in the trials (0)", "K"),
        options.TIMEOUT,
        options.MODEL,
        *options.FORKED,
        Option("o", "keep runs, patches and children here, and go on with what is there", "FOLDER"),
        Option("key", "sign the children with this private key instead of your own", "FILE"),
        Option("json", "print the verdict as one JSON object"),
    ),
    positionals=(Positional("BUNDLE", "the bundle to bisect, or the id of a run of this machine"),),
    about=(
        "Every question is a fork of its own: the recorded run up to the message, the message without some\n"
        "of its text, and real servers from there on. What is found is 1-minimal: without it the outcome is\n"
        "not seen, and with any one piece of it put back it is. It is confirmed by runs of its own, and\n"
        "held against as much text removed elsewhere. docs/bisect.md has the words of EXPR:\n"
        "\n"
        "  denied host=evil.example     request host=api.example path~/transfer\n"
        "  tool name=send_email         exit!=0\n"
        "\n"
        "Exit code: 0 found, 1 not found, 2 usage, 3 the bundle breaks off, 4 not replayable, 130 stopped\n"
        "by Ctrl-C: then the same command with -o FOLDER goes on."
    ),
)


def run(args: Args) -> int:
    """Bisect, say the verdict, and return its exit code."""
    from hark import starting

    starting.begin()
    from hark.bisect.session import bisect
    from hark.bisect.verdict import Verdict
    from hark.cli import again
    from hark.cli.output import say_json
    from hark.cli.run import say

    wanted = _wanted(args)
    try:
        with again.refusals():
            verdict = Verdict(bisect(wanted, os.environ, say=say, ask=again.asker()))
    except PatchError as error:
        raise UsageError(str(error)) from error
    for line in verdict.lines():
        say(line)
    if args.flag("json"):
        say_json(verdict.record())
    return verdict.exit_code


def _wanted(args: Args) -> "Wanted":
    from hark.bisect.counting import Rule
    from hark.bisect.session import Wanted
    from hark.cli import again

    at, until = args.text("at"), args.text("until")
    if at is None or until is None:
        raise UsageError("hark bisect needs -at N, the message, and -until EXPR, the outcome")
    trials = again.count(args, "trials", 1, MOST_TRIALS)
    changes = _changes(args)
    return Wanted(
        replay=again.asked(args),
        at=at,
        until=until,
        options=(*changes, *again.passed_on(args)),
        policy=args.text("policy"),
        changes=changes,
        finest=_level(args.text("by")),
        search=_search(args.text("search")),
        rule=Rule(trials, again.count(args, "tolerate", 0, trials - 1, least=0)),
        jobs=again.count(args, "jobs", 2, MOST_JOBS),
        most=again.count(args, "max-runs", 200, MOST_RUNS),
        seconds=again.time_limit(args),
    )


def _changes(args: Args) -> tuple[str, ...]:
    """Return what makes every fork another one."""
    from hark.patch.rewrite import read_model, read_set

    model = args.text("model")
    if model is not None:
        read_model(model)
    for word in args.texts("set"):
        read_set(word)
    named = () if model is None else (f"-model={model}",)
    return (*named, *(f"-set={word}" for word in args.texts("set")))


def _level(word: str | None) -> "Level":
    from hark.bisect.units import Level

    return Level(_choice("by", word, tuple(Level), Level.SENTENCE))


def _search(word: str | None) -> str:
    from hark.bisect.session import SEARCHES

    return _choice("search", word, SEARCHES, SEARCHES[0])


def _choice(name: str, word: str | None, known: tuple[str, ...], default: str) -> str:
    from hark.cli.spec import unknown

    if word is None:
        return default
    if word not in known:
        raise UsageError(unknown(f"-{name} is one of {', '.join(known)}, and not {word!r}", word, known))
    return word
