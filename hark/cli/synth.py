"""`hark synth`: a made-up bundle, whole or spoilt as asked, to try a verifier on."""

from typing import Final

from hark.cli.spec import Args, Option, Spec
from hark.errors import RecordError, UsageError

SPEC: Final = Spec(
    "synth",
    "write a made-up bundle to try a verifier on",
    options=(
        Option("o", "write the bundle to OUT, which must not exist", "OUT"),
        Option("events", "how many events it has, RunStart, RunEnd and Seal included (default: 100)", "N"),
        Option("size", "bytes of each other event's payload (default: 520)", "BYTES"),
        Option("key", "sign it with this private key file (default: unsigned)", "FILE"),
        Option("corrupt", "flip one bit in event N", "N"),
        Option("truncate", "cut the file in the middle of event N", "N"),
    ),
    about="""\
The same arguments give the same bytes. The header and every event say that they are synthetic.""",
)

DEFAULT_EVENTS: Final = 100
MAX_EVENTS: Final = 100_000_000  # some 60 GB of the usual size: more is a slip of the hand
DEFAULT_SIZE: Final = 520
MAX_SIZE: Final = 64 << 20  # format 1's ceiling for one payload


def run(args: Args) -> int:
    """Write it."""
    import os

    from hark import keys
    from hark.bundle import synth
    from hark.cli import output
    from hark.cli.bundles import refuse_existing

    path = args.text("o")
    if path is None:
        raise UsageError("hark synth needs -o OUT, the file to write")
    events = _or(args.number("events"), DEFAULT_EVENTS)
    size = _or(args.number("size"), DEFAULT_SIZE)
    for name, number, most in (("events", events, MAX_EVENTS), ("size", size, MAX_SIZE)):
        if number > most:
            raise UsageError(f"-{name} is at most {most}, and {number} is more")
    spoiled = {name: args.number(name) for name in ("corrupt", "truncate")}
    for name, seq in spoiled.items():
        if seq is not None and seq >= events:
            raise UsageError(f"-{name} {seq}: there is no such event among {events}, counted from 0")
    key_path = args.text("key")
    key = None if key_path is None else keys.load_private(key_path)
    refuse_existing(path)
    try:
        synth.synthesize(path, events, size, key)
    except RecordError as error:  # here it is no run whose record failed
        raise UsageError(str(error)) from None
    if (seq := spoiled["corrupt"]) is not None:
        synth.corrupt(path, seq)
    if (seq := spoiled["truncate"]) is not None:
        synth.truncate(path, seq)
    output.say(f"wrote {path}, {os.stat(path).st_size} bytes")
    return 0


def _or(number: int | None, default: int) -> int:
    return default if number is None else number
