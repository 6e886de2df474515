"""`hark witness`: have a witness cosign a run's checkpoint."""

from typing import Final

from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import UsageError

SPEC: Final = Spec(
    "witness",
    "have a witness cosign a run, and keep its word in the bundle",
    options=(
        Option("url", "where the witness takes checkpoints: its submission prefix", "URL", required=True),
        Option("witness", "the witness's key, as it publishes it: NAME+ID+KEY", "KEY", required=True),
    ),
    positionals=(Positional("BUNDLE", "the bundle; a line is added to its footer"),),
    about="""\
The witness is sent the run's checkpoint (its id, size, root and signature), and nothing else. It cosigns
one checkpoint of a run and no second one, so its word is evidence against the holder of the key too.
`hark verify -witness KEY` and `hark prove -check -witness KEY` ask for it. See docs/tlog.md.

Exit code: 0 cosigned, 1 refused, or the bundle does not verify, 2 usage, 3 the bundle is truncated.""",
)


def run(args: Args) -> int:
    """Ask, keep, and say what is now in the bundle."""
    from hark.cli import output
    from hark.cli.bundles import checked, witness_keys
    from hark.witnessing import witness

    url = args.text("url")
    keys = witness_keys(args.texts("witness"))
    if url is None or not keys:
        raise UsageError(
            "hark witness needs -url URL and -witness KEY, the address and key that a witness publishes; "
            "docs/tlog.md says which witnesses take runs"
        )
    path = checked(args.positional("BUNDLE"))
    result = witness(path, url, keys[0], _ask)
    output.say(result.line())
    for one in result.cosignatures:
        if one.checked:
            output.say(one.sentence())
    return result.exit_code


def _ask(url: str, body: bytes) -> tuple[int, bytes]:
    from hark.anchoring import web

    answer = web.ask(url, body, {"content-type": "text/plain; charset=utf-8"})
    return answer.status, answer.body
