"""`hark compare`: one recorded run forked with several models side by side, each as `hark fork` does it."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hark.cli import again, options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import UsageError

if TYPE_CHECKING:
    from hark.compare.prices import Price
    from hark.compare.trial import Row, Wanted

MAX_FORKS: Final = 64
PRICES: Final = "prices.toml"
SPEC: Final = Spec(
    "compare",
    "fork a run with several models side by side, and print one table of what came of it",
    (
        options.BRANCH,
        Option("models", "the models to ask from there on, with commas between", "A,B,...", required=True),
        Option("verify", "after each fork, run this command of yours in its copy of the project", "CMD"),
        Option("repeat", "fork so many times with each model; once unless given", "K"),
        Option("jobs", "run so many forks at a time; as many as there are processors unless given", "J"),
        options.TIMEOUT,
        Option("prices", "take these prices before your own and those that come with hark", "FILE"),
        Option("patch", "make this patch in every fork (docs/patch.md)", "FILE"),
        *options.FORKED,
        Option("keep", "keep copies and what was printed in this new directory", "DIR"),
        Option("o", "put the forks' bundles into this new directory; else `hark ls` has them", "DIR"),
        options.SIGN,
        Option("anchor", "put each fork's signed tree head into a transparency log when it is sealed"),
        *options.ANCHORED,
        Option("json", "print one JSON object instead of the table"),
    ),
    positionals=(Positional("BUNDLE", "the bundle to fork, or the id of a run of this machine"),),
    about=(
        "Each fork is one of `hark fork -model`, on a throw-away copy of the project. Actions, tokens, cost\n"
        "and time are those of its live part. Tokens are what the answers count; a model without a price\n"
        "has no cost. The command of -verify is a line for sh. It runs as you and OUTSIDE the boundary, on\n"
        "files that the agents wrote: what it executes of them (tests, hooks, build files) has your rights.\n"
        "-verify 'hark run -- pytest' contains it.\n"
        "\n"
        "Exit code: 0 every fork was made, and passed -verify where that is given; 1 one was not, or did\n"
        "not; 2 usage; 3 the bundle breaks off, 4 it is not replayable."
    ),
)
_PASSED_ON: Final = (
    "at", "patch", "set", *again.PASSED_ON, "rekor", "tsa", "signing-config", "trusted-root",
)  # fmt: skip
_SWITCHES: Final = (*again.SWITCHES, "anchor", "identity")


def run(args: Args) -> int:
    """Fork with each model, print the table, and return the exit code."""
    from hark import starting

    starting.begin()
    from hark.cli import output
    from hark.cli.anchoring import asked_for_run
    from hark.cli.bundles import checked
    from hark.compare import table
    from hark.compare.trial import Wanted

    models, repeat = _models(args), _count(args, "repeat", 1)
    if len(models) * repeat > MAX_FORKS:
        raise UsageError(f"{len(models) * repeat} forks are too many: at most {MAX_FORKS} are made at once")
    jobs = _count(args, "jobs", os.cpu_count() or 1)
    seconds = again.time_limit(args)
    asked_for_run(args)  # what no fork could be anchored by is said before one is made
    bundle, prices = checked(args.positional("BUNDLE")), _prices(args.text("prices"), os.environ)
    check = args.text("verify")
    if check is not None:
        output.error_line("the command of -verify runs as you, outside the boundary, on what the agents left")
    with _folder(args.text("keep")) as folder:
        alike = Wanted(
            "", "", again.passed_on(args, _PASSED_ON, _SWITCHES), bundle, folder, None, check, prices, seconds
        )
        rows = _all(list(_wanted(args, alike, models, repeat)), jobs)
    if args.flag("json"):
        output.say_json(_record(args, bundle, rows))
    else:
        for line in (*table.lines(rows), *table.sums(rows, models)):
            output.say(line)
    return table.exit_code(rows)


def _models(args: Args) -> tuple[str, ...]:
    from hark.patch.rewrite import read_model

    if args.text("at") is None:
        raise UsageError("hark compare needs -at: an event's number, HOST/PATH#K or last-request")
    text = args.text("models")
    if text is None:
        raise UsageError("hark compare needs -models: the names of models with commas between")
    models = tuple(read_model(name.strip()) for name in text.split(","))
    twice = next((name for name in models if models.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"-models names {twice} twice; -repeat 2 forks twice with each")
    return models


def _count(args: Args, name: str, default: int) -> int:
    given = args.number(name)
    if given == 0:
        raise UsageError(f"-{name} needs a whole number from 1")
    return default if given is None else given


def _prices(named: str | None, environ: Mapping[str, str]) -> "dict[str, Price]":
    """Read the prices that come with hark, over them the caller's own, over them those of -prices."""
    from hark.cli.bundles import read
    from hark.compare import prices
    from hark.keys import user_key_path

    shipped = os.path.join(os.path.dirname(prices.__file__), PRICES)
    own = os.path.join(os.path.dirname(user_key_path(environ)), PRICES)
    found: dict[str, Price] = {}
    for path in (shipped, own if os.path.lexists(own) else None, named):
        if path is not None:
            raw = read(path, prices.MAX_TABLE, "table of prices")
            found = prices.over(prices.read(raw, path), found)
    return found


@contextmanager
def _folder(keep: str | None) -> Iterator[str]:
    """Give a folder for the copies: one that is thrown away, or the one that is to be kept."""
    import time

    from hark import ids
    from hark.bundle.store import ensure_runs_directory
    from hark.snapshot.copies import Copy, ready

    if keep is not None:
        yield _new_folder("keep", keep)
        return
    name = ids.ulid(time.time_ns(), os.urandom(ids.RANDOM_BYTES))
    with Copy(ready(ensure_runs_directory(os.environ)), name) as copy:
        yield copy.path


def _new_folder(name: str, path: str) -> str:
    from hark.cli.bundles import refuse_nowhere

    if os.path.lexists(path):
        raise UsageError(f"-{name} {path} exists, and hark overwrites nothing; name a new folder")
    refuse_nowhere(path)
    os.mkdir(path, 0o700)
    return os.path.abspath(path)


def _wanted(args: Args, alike: "Wanted", models: tuple[str, ...], repeat: int) -> "Iterator[Wanted]":
    """Yield the forks, from what they have alike: every model once, then every model again."""
    from dataclasses import replace

    out = args.text("o")
    outputs = None if out is None else _new_folder("o", out)
    for time in range(1, repeat + 1):
        for number, model in enumerate(models, 1):
            name = _file_name(model, number, time if repeat > 1 else 0)
            output = None if outputs is None else os.path.join(outputs, f"{name}.hark")
            yield replace(alike, model=model, name=name, output=output)


def _file_name(model: str, number: int, time: int) -> str:
    kept = "".join(char if char.isalnum() or char in "-_." else "_" for char in model)
    return f"{number}-{kept[:80]}" + (f"-{time}" if time else "")


def _all(wanted: "list[Wanted]", jobs: int) -> "list[Row]":
    """Run them, some at a time; Ctrl-C, and whatever else would end hark, ends them first."""
    from hark.compare.trial import trials

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    return trials(wanted, jobs, dict(os.environ), _tell)


def _tell(wanted: "Wanted", row: "Row") -> None:
    from hark.cli.output import error_line

    error_line(f"{wanted.name}: {row.word}" + (f", check: {row.check}" if row.check else ""))


def _record(args: Args, bundle: str, rows: "list[Row]") -> dict[str, object]:
    from hark.compare import table

    return {
        "bundle": bundle,
        "at": args.text("at"),
        "verify": args.text("verify"),
        "rows": [table.record(row) for row in rows],
        "exit_code": table.exit_code(rows),
    }
