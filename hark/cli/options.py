"""Options that several commands have, each written once: what it is called, and what it means.

Always: commands that share an option mean the same by it. What a command means otherwise by the same name
(the `-o` of a run and of an export) stands in its own table.
"""

from typing import Final

from hark.cli.spec import Option

READ: Final = Option("read", "let the command read this path; may be repeated", "PATH", repeat=True)
WRITE: Final = Option("write", "let the command write below this path; may be repeated", "PATH", repeat=True)

TRUST: Final = (
    Option("trust-bundle", "run what a bundle asks for though nobody you trust has signed it"),
    Option("trusted-keys", "trust the keys in this list too, one a line", "FILE"),
)
"""Of what starts a recorded command: on whose word."""
COPIED: Final = Option(
    "workdir", "work on a copy of this directory, and not on the bundle's of the project", "DIR"
)
KEEP: Final = Option("keep", "keep the copy that the command worked on in this new directory", "DIR")
SIGN: Final = Option("key", "sign that with this private key instead of your own", "FILE")
VERDICT: Final = Option(
    "json", "print the verdict as one JSON object, and the command's own output on stderr"
)

BRANCH: Final = Option(
    "at",
    "the branch point: an event's number, HOST/PATH#K, mcp.SERVER/TOOL#K or last-request",
    "N",
    required=True,
)
MODEL: Final = Option(
    "model", "have every live request ask this model instead of the one that it names", "NAME"
)
SET: Final = Option(
    "set", "set this JSON value in live requests; may be repeated", "POINTER=VALUE", repeat=True
)
LIVE_POLICY: Final = Option(
    "policy", "from the branch point on, this policy with its secrets and tool servers", "FILE"
)
"""Of what forks: where, and what is different from there on."""

OUTWARD: Final = (
    Option("upstream", "dial HOST at another address; may be repeated", "HOST=ADDR[:PORT]", repeat=True),
    Option("upstream-ca", "trust these roots for upstreams too; may be repeated", "PEM", repeat=True),
    Option("via-proxy", "dial upstreams through the proxies that your environment names"),
)
"""Of what goes live in the middle of a recording: how servers are reached."""

FORKED: Final = (SET, LIVE_POLICY, *OUTWARD, *TRUST, READ, WRITE, COPIED)
"""Of what makes forks: what is different in them, and what of this machine they get."""

ANCHORED: Final = (
    Option("rekor", "anchor in the log at this address, of version 1 or 2, not in the public one", "URL"),
    Option("tsa", "have this authority stamp the time (RFC 3161); with -rekor", "URL", repeat=True),
    Option("signing-config", "take logs, clocks and authorities from this signing_config.json", "FILE"),
    Option("trusted-root", "believe those in this trusted_root.json, not the public ones", "FILE"),
    Option("identity", "anchor under your identity (OIDC, as a CI gives it), not with the run's key"),
)
"""Of what makes an anchor: whom to ask, and whom to believe."""

ANCHORER: Final = (
    Option(
        "identity",
        "accept only anchors under this identity, with the -issuer given for it",
        "NAME",
        repeat=True,
    ),
    Option(
        "issuer", "the OIDC issuer that must have vouched for the -identity before it", "URL", repeat=True
    ),
)
"""Of what judges anchors: who is expected to have made them."""

TIMEOUT: Final = Option("timeout", "end a fork that has not ended after so many seconds (no limit)", "N")
"""Of what makes many forks."""

PINNED: Final = Option("key", "accept only a bundle signed by this public key", "HEX|FILE", repeat=True)
"""Of what reads a bundle and writes something about it."""
