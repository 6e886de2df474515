"""`hark verify`: one verdict line, what led to it, and what it does not say. Decides nothing itself."""

from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import BundleError, TruncatedError, UsageError

if TYPE_CHECKING:
    from hark.verify.anchor import Identity, Trust
    from hark.verify.result import Result

SPEC: Final = Spec(
    "verify",
    "check a bundle: its hashes, chain, root, seal and signature",
    options=(
        Option(
            "key",
            "accept only a signature by this public key: 64 hex digits, or a key file",
            "HEX|FILE",
            repeat=True,
        ),
        Option(
            "trusted-root",
            "believe the logs, authorities and clocks in this trusted_root.json, not the public ones",
            "FILE",
        ),
        Option(
            "log-witness",
            "accept only anchors whose checkpoint this witness has cosigned",
            "KEY",
            repeat=True,
        ),
        Option("anchored", "accept only a bundle that has an anchor which holds"),
        *options.ANCHORER,
        Option(
            "witness",
            "accept only a run whose checkpoint this witness has cosigned: NAME+ID+KEY, as it publishes it",
            "KEY",
            repeat=True,
        ),
        Option("json", "print the result as one JSON object"),
    ),
    positionals=(Positional("BUNDLE", "the bundle to check"),),
    about="""\
The first line is the verdict; the worst finding decides it. Below it stand the other findings, if
any, what is known of its anchor, and what the verdict does not say.

An anchor is judged offline, from what the bundle holds of it: anchored, not checkable (and why), or
rejected, which rejects the bundle (docs/anchor.md). No log is asked anything. Anybody can anchor a
bundle under an identity of theirs: with -identity and -issuer, compared exactly, it has to be theirs.

Exit code: 0 VERIFIED, 1 BROKEN or REJECTED, 2 usage, 3 TRUNCATED (no footer: the writer was killed;
everything up to the last whole event holds).""",
)


def run(args: Args) -> int:
    """Verify, print, and return the verdict's exit code."""
    from hark.cli import output
    from hark.cli.bundles import checked, own_key, pinned, witness_keys
    from hark.verify.steps import verify

    keys = pinned(args.texts("key"))
    witnesses = witness_keys(args.texts("witness"))
    believed = trust(
        args.text("trusted-root"),
        args.texts("log-witness"),
        required=args.flag("anchored"),
        identities=identities(args),
    )
    path = checked(args.positional("BUNDLE"))
    try:
        result = verify(path, keys, own=own_key(), trust=believed, witnesses=witnesses)
    except BundleError as error:
        return _no_bundle(error, as_json=args.flag("json"))
    if args.flag("json"):
        output.say_json(_record(result))
    else:
        for line in lines(result):
            output.say(line)
    return result.exit_code


def identities(args: Args) -> "tuple[Identity, ...]":
    """Return who may have anchored, by -identity and -issuer; empty where neither is given."""
    names, issuers = args.texts("identity"), args.texts("issuer")
    if len(names) != len(issuers):
        raise UsageError(
            "each -identity needs the -issuer that must have vouched for it, and each -issuer a name"
        )
    if not all((*names, *issuers)):
        raise UsageError("-identity and -issuer need text")
    if not names:
        return ()
    from hark.verify.anchor import Identity

    return tuple(map(Identity, names, issuers))


def trust(
    root: str | None,
    witnesses: tuple[str, ...] = (),
    *,
    required: bool = False,
    identities: "tuple[Identity, ...]" = (),
) -> "Trust | None":
    """Return what options on anchors say; None where none of them is given."""
    if root is None and not witnesses and not required and not identities:
        return None
    from hark.cli.bundles import read
    from hark.verify.anchor import MAX_ROOT, Trust, trusted_root, witness_keys

    data = None if root is None else read(root, MAX_ROOT, "trust root")
    trusted_root(data)  # what cannot be read is refused, also for a bundle without an anchor
    witness_keys(witnesses)
    return Trust(data, witnesses, required, identities)


def _no_bundle(error: BundleError, *, as_json: bool) -> int:
    """The verdict on a file without a header that could be read."""
    from hark.cli import output

    verdict = "TRUNCATED" if isinstance(error, TruncatedError) else "BROKEN"
    if as_json:
        output.say_json({"verdict": verdict, "findings": [{"verdict": verdict, "words": str(error)}]})
    else:
        output.say(f"{verdict}: {error}")
    return error.exit_code


def lines(result: "Result") -> list[str]:
    """Return what is printed for people; `hark report` shows the same."""
    from hark.cli.output import wrapped

    found = [result.line()]
    found += [f"  also: {finding.sentence()}" for finding in result.findings[1:]]
    if result.public_key:
        from hark.keys import name

        found.append(f"The key is called {name(result.public_key)}.")
    for sentence in result.said_of_anchors():
        found += wrapped(sentence.split(), "", first=0).split("\n")
    for one in result.cosignatures:
        found += wrapped(one.sentence().split(), "", first=0).split("\n")
    if words := result.lineage.words():
        found += wrapped(f"It claims to be {words}.".split(), "", first=0).split("\n")
    if result.limits:
        found += ["", "What this does not say:"]
        for limit in result.limits:
            found += f"  - {wrapped(limit.split(), '    ', first=4)}".split("\n")
    return found


def _record(result: "Result") -> dict[str, object]:
    findings = [finding._asdict() | {"sentence": finding.sentence()} for finding in result.findings]
    return {
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "line": result.line(),
        "findings": findings,
        "limits": list(result.limits),
        "run": result.header.run_id,
        "events": result.events,
        "redacted": list(result.redacted),
        "root": result.root.hex(),
        "final_chain": result.final_chain.hex(),
        "run_end": None if result.run_end is None else result.run_end._asdict(),
        "public_key": result.public_key.hex() or None,
        "pinned": result.pinned,
        "own": result.own,
        "anchored": result.anchored,
        "anchors": [anchor.record() for anchor in result.anchors],
        "tlog": None if result.tlog is None else result.tlog.record(),
        "trailing": result.trailing,
        "unsafe_allow_all": result.unsafe if result.policy_known else None,
        "uncontained": result.uncontained or None,
        "fork": result.lineage.record(),
    }
