"""`hark trust`: replay the bundles of this key from now on without being asked."""

import os
from typing import Final

from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import BundleError, UsageError

SPEC: Final = Spec(
    "trust",
    "replay bundles signed by a key from now on without asking",
    (Option("list", "list the keys that are trusted"),),
    positionals=(
        Positional("BUNDLE|KEY", "whose signer, or which key: 64 hex digits or a key file", optional=True),
    ),
    about=(
        "The key goes on the list beside your own signing key. Compare its name with the signer's by\n"
        "another way than the one the bundle took. To trust a key no longer, delete its line."
    ),
)


def run(args: Args) -> int:
    """Add the key, or list them all."""
    from hark import keys
    from hark.cli import output
    from hark.rerun import trusted

    given = args.optional("BUNDLE|KEY")
    if args.flag("list"):
        if given is not None:
            raise UsageError("-list takes no key")
        for public, remark in trusted.known(os.environ).items():
            name = keys.name(public)
            rest = remark.removeprefix(name).strip()  # `add` writes the name down for who reads the file
            output.say(f"{public.hex()} {name} {rest}".rstrip())
        return 0
    if given is None:
        raise UsageError("hark trust needs a bundle or a key; -list shows those that are trusted")
    public = _signer(given)
    added = trusted.add(os.environ, public, keys.name(public))
    output.say(f"{keys.name(public)} {'is trusted from now on' if added else 'was trusted already'}")
    output.say(f"  {public.hex()}")
    output.say(f"  in {trusted.list_path(os.environ)}")
    return 0


def _signer(given: str) -> bytes:
    """The key, or the key that a bundle is well signed by."""
    from hark import keys
    from hark.cli.bundles import located
    from hark.verify.result import BROKEN
    from hark.verify.steps import verify

    path = located(given)
    if not os.path.isfile(path) or _is_key_file(path):
        return keys.public_from(given, "")
    result = verify(path)
    if result.verdict == BROKEN:
        raise BundleError(f"nobody is trusted for a bundle that does not verify: {result.line()}")
    if not result.public_key:
        raise UsageError(f"{given} is not signed: there is no key to trust")
    return result.public_key


def _is_key_file(path: str) -> bool:
    from hark.bundle.frame import MAGIC
    from hark.bundle.regular import open_regular

    with open(open_regular(path), "rb") as file:
        return not file.read(len(MAGIC)).startswith(MAGIC[:4])
