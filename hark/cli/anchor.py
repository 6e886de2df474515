"""`hark anchor`: an entry in a transparency log for a sealed bundle; or its anchors, for other verifiers."""

import os
from typing import TYPE_CHECKING, Final

from hark.cli import options
from hark.cli.spec import Args, Option, Positional, Spec
from hark.errors import UsageError

if TYPE_CHECKING:
    from hark.bundle.tree_head import SigningKey

TREE_HEAD: Final = "tree-head.cbor"
"""What the signatures in sigstore bundles are over."""

SPEC: Final = Spec(
    "anchor",
    "put a bundle's signed tree head into a transparency log, and the proof behind the bundle",
    options=(
        *options.ANCHORED,
        Option("key", "the private key that the bundle was signed with, if it is not your own", "FILE"),
        Option("extract", "write the tree head and each sigstore bundle into this new directory", "DIR"),
    ),
    positionals=(Positional("BUNDLE", "the bundle to anchor, or the id of a run of this machine"),),
    about="""\
The bundle is verified first. What becomes public for ever is the hash of the signed tree head, a signature
by a key that is made for this one entry, and that key; under -identity your name stands in a certificate.
Nothing of the record does. The log's answer is judged as `hark verify` would, and put behind the bundle;
nothing in it is signed anew, and anchors that it has stay.

-identity takes SIGSTORE_IDENTITY_TOKEN, or what the surroundings give (a CI's OIDC). -extract asks nobody:
what it writes, `sigstore verify` takes by itself.

Exit code: 0 anchored, 1 not (the bundle is as it was), 2 usage.""",
)


def run(args: Args) -> int:
    """Anchor, and say what came of it."""
    from hark.cli import output
    from hark.cli.bundles import checked

    path = checked(args.positional("BUNDLE"))
    directory = args.text("extract")
    if directory is not None:
        return _extract(path, directory)
    from hark.anchoring.putting import put
    from hark.cli.anchoring import asked, said

    wanted = asked(args)
    signer = None if args.flag("identity") else _signer(args.text("key"))
    for sentence in said(put(path, signer, wanted)):
        output.say(sentence)
    return 0


def _signer(path: str | None) -> "SigningKey":
    """The key that signs runs here; never one made just now, with which nothing was signed."""
    from hark import keys

    return keys.load_private(keys.user_key_path(os.environ) if path is None else path)


def _extract(path: str, directory: str) -> int:
    from hark.bundle.anchor import artifact
    from hark.bundle.footing import footer_of
    from hark.cli import output
    from hark.cli.bundles import opened, refuse_existing, write_new

    with opened(path) as file:
        footer = footer_of(file)[1]
    if footer.tree_head is None or not footer.anchors:
        raise UsageError(f"{path} is not anchored: there is nothing to extract")
    refuse_existing(directory)
    os.mkdir(directory, 0o755)
    write_new(os.path.join(directory, TREE_HEAD), artifact(footer.tree_head))
    for number, anchor in enumerate(footer.anchors, 1):
        write_new(os.path.join(directory, f"anchor-{number}.sigstore.json"), anchor.bundle)
        if anchor.key:
            write_new(os.path.join(directory, f"anchor-{number}.pub"), _pem(anchor.key))
    output.say(f"{directory} has the tree head and {len(footer.anchors)} of its anchors")
    return 0


def _pem(key: bytes) -> bytes:
    from hark.anchor.body import pem

    return pem("PUBLIC KEY", key)
