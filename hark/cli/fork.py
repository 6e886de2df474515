"""`hark fork`: a recorded run once more up to one point, one thing changed there, and live from then on."""

import os
from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import PatchError, PolicyError, UsageError

if TYPE_CHECKING:
    from hark.fork.forking import Wanted

UNPATCHED: Final = "FORK-UNPATCHED"
MAX_PATCH: Final = 16 << 20

SPEC: Final = Spec(
    "fork",
    "run a recorded agent again up to one point, change one thing there, and go on live",
    (
        options.BRANCH,
        Option("patch", "make this patch on the answer or the request there (docs/patch.md)", "FILE"),
        Option("edit", "open what was recorded there in your editor, and make the patch of what you leave"),
        options.MODEL,
        *options.FORKED,
        options.KEEP,
        Option("o", "where the fork's own bundle goes; without it, where `hark ls` finds it", "OUT"),
        options.SIGN,
        Option("anchor", "put the fork's signed tree head into a transparency log when it is sealed"),
        *options.ANCHORED,
        options.VERDICT,
    ),
    positionals=(Positional("BUNDLE", "the bundle to fork, or the id of a run of this machine"),),
    about=(
        "The command starts as it was recorded and has to do the same up to the branch point. From there on\n"
        "real servers answer it, by your policy and your secrets, and what it does is recorded as in a run.\n"
        "Without -policy the recorded rules stay, without any secret. What may change the world is not done\n"
        "again unless the policy says may_reexecute.\n"
        "\n"
        "Exit code: 0 forked, 1 diverged, incomplete or unpatched, 2 usage, 3 the bundle breaks off, 4 not\n"
        "replayable."
    ),
)


def run(args: Args) -> int:
    """Fork, say the verdict, and return its exit code."""
    from hark import starting

    starting.begin()
    starting.hold_collector()
    starting.make_networks()
    from hark.cli import again
    from hark.cli.run import say, show
    from hark.fork.forking import fork
    from hark.fork.verdict import judge

    wanted = _wanted(args)
    answer = again.set_output_apart() if args.flag("json") else None
    try:
        with again.refusals():
            outcome = fork(wanted, os.environ, say=say, ask=again.asker(), show=show)
    except PatchError as error:
        say(f"{UNPATCHED}: {error}; nothing was started")
        if answer is not None:
            again.print_json(answer, {"verdict": UNPATCHED, "exit_code": error.exit_code, "why": str(error)})
        return error.exit_code
    verdict = judge(outcome)
    for line in verdict.lines():
        say(line)
    if answer is not None:
        again.print_json(answer, verdict.record())
    return verdict.exit_code


def _editor(text: str) -> str:
    from hark.cli.editor import edit

    return edit(text, os.environ)


def _wanted(args: Args) -> "Wanted":
    from dataclasses import replace

    from hark.cli import again
    from hark.cli.anchoring import asked_for_run
    from hark.fork.forker import Outward
    from hark.fork.forking import Wanted
    from hark.patch.rewrite import Rewrites, read_model, read_set

    at = args.text("at")
    if at is None:
        raise UsageError("hark fork needs -at: an event's number, HOST/PATH#K or last-request")
    patch, model = args.text("patch"), args.text("model")
    if patch is not None and args.flag("edit"):
        raise UsageError("hark fork takes -patch or -edit, which makes one, and not both")
    return Wanted(
        replay=replace(again.asked(args), keep=args.text("keep")),
        at=at,
        policy=args.text("policy"),
        patch=None if patch is None else _patch(patch),
        patch_source=patch or "",
        editor=_editor if args.flag("edit") else None,
        rewrites=Rewrites(
            None if model is None else read_model(model), tuple(read_set(word) for word in args.texts("set"))
        ),
        outward=Outward(args.texts("upstream"), args.texts("upstream-ca"), args.flag("via-proxy")),
        anchor=asked_for_run(args),
    )


def _patch(path: str) -> bytes:
    """Read the file of `-patch`; one that cannot be read is a mistake in the command line, as everywhere."""
    from hark.given import read_given

    try:
        return read_given(path, MAX_PATCH, "-patch")
    except PolicyError as error:
        raise UsageError(str(error)) from None
