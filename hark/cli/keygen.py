"""`hark keygen`: make an Ed25519 key, never over an existing one. The private half is never printed."""

import os
from typing import Final

from hark.cli.spec import Args, Option, Spec
from hark.errors import PolicyError, UsageError

SPEC: Final = Spec(
    "keygen",
    "make a signing key",
    options=(
        Option(
            "out",
            "write the key to FILE and its public half to FILE.pub"
            " (default: the key that `hark run` signs with, $XDG_CONFIG_HOME/hark/signing.key)",
            "FILE",
        ),
    ),
    about="""\
The private key is written with mode 0600; an existing file is never overwritten. The name in
words is for recognising a key by eye; whoever checks a signature should pin the public key's 64
hex digits or its file.""",
)


def run(args: Args) -> int:
    """Make the key and say where it is and how to recognise it."""
    from hark import keys
    from hark.cli import output
    from hark.cli.bundles import refuse_nowhere

    path = args.text("out") or _user_key_path()
    if os.path.isdir(path):
        raise UsageError(f"-out {path} is a directory; name the file to write")
    refuse_nowhere(path)
    public_path = path + ".pub"
    for taken in (path, public_path):
        if os.path.lexists(taken):
            raise UsageError(f"{taken} exists, and a key is never overwritten; -out FILE makes another")
    key = keys.generate()
    try:
        keys.create_private(path, key)
    except FileExistsError:
        raise UsageError(f"{path} exists, and a key is never overwritten; -out FILE makes another") from None
    keys.create_public(public_path, key.public_key)
    output.say(f"private key  {path}")
    output.say(f"public key   {public_path}")
    output.say(f"             {key.public_key.hex()}")
    output.say(f"name         {keys.name(key.public_key)} ({keys.NAME_BITS} bits)")
    return 0


def _user_key_path() -> str:
    """The default key's path, its directory made or refused; here a refusal is about the command line."""
    from hark import keys

    try:
        path = keys.user_key_path(os.environ)
        keys.ensure_private_directory(os.path.dirname(path))
    except PolicyError as error:
        raise UsageError(str(error)) from None
    return path
