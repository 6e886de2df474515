"""Options of commands that make anchors, read into what `hark.anchoring` takes: files at once, no server."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hark.cli import options
from hark.cli.spec import Args
from hark.errors import UsageError

if TYPE_CHECKING:
    from hark.anchoring.making import Anchoring, Made


def asked(args: Args) -> "Anchoring":
    """Whom to ask and whom to believe. Raises UsageError; no server is asked."""
    from hark.anchoring.making import Anchoring
    from hark.anchoring.services import MAX_CONFIG, Services, configured, named
    from hark.cli.bundles import read
    from hark.verify.anchor import MAX_ROOT, Trust, identity_token, public_data, trusted_root

    rekor, clocks, config = args.text("rekor"), args.texts("tsa"), args.text("signing-config")
    if rekor is not None and config is not None:
        raise UsageError("-rekor names a log and -signing-config all servers: give one of the two")
    if clocks and rekor is None:
        raise UsageError("-tsa goes with -rekor; a signing config names its own")
    if rekor is not None:
        services: Services = named(rekor, clocks)
    else:
        data = (
            public_data("signing_config.v0.2.json") if config is None else read(config, MAX_CONFIG, "config")
        )
        services = configured(data, time.time())
    root = args.text("trusted-root")
    trust = Trust(None if root is None else read(root, MAX_ROOT, "trust root"))
    trusted_root(trust.root)
    token = (lambda: identity_token(os.environ)) if args.flag("identity") else None
    return Anchoring(services, trust, token, tuple(_words(args)))


def _words(args: Args) -> Iterator[str]:
    for name in ("key", *(option.name for option in options.ANCHORED)):
        for value in args.texts(name):
            yield f"-{name}" if name == "identity" else f"-{name}={value}"


def asked_for_run(args: Args) -> "Anchoring | None":
    """The same where `-anchor` was given, else None; the other options need it."""
    if args.flag("anchor"):
        return asked(args)
    for option in options.ANCHORED:
        if args.texts(option.name):
            raise UsageError(f"-{option.name} goes only with -anchor")
    return None


def said(made: "tuple[Made, ...]") -> list[str]:
    """What became of the anchors, a sentence each."""
    return [one.result.sentence() for one in made]
