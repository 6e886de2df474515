"""`hark init`: a commented policy to start from, for one agent. Overwrites nothing."""

import os
from typing import Final

from hark.cli.spec import Args, Option, Spec
from hark.errors import UsageError

SPEC: Final = Spec(
    "init",
    "write a policy to start from",
    options=(
        Option(
            "agent", "whose policy: claude-code, codex, gemini, aider, python or node", "NAME", required=True
        ),
        Option("o", "write it to FILE, which must not exist (default: policy.toml)", "FILE"),
    ),
    about="""\
Writes a commented policy that allows the hosts which this agent needs with an API key, keeps the key from
it, and names in comments what signing in or telemetry would need. Then prints the command to run.""",
)


def run(args: Args) -> int:
    """Write the policy and say what to do next."""
    import shlex

    from hark.cli import output
    from hark.cli.bundles import write_new
    from hark.cli.spec import unknown
    from hark.policy.starters import STARTERS

    name, path = args.text("agent"), args.text("o") or "policy.toml"
    if name is None:
        raise UsageError(f"hark init needs -agent NAME: {', '.join(STARTERS)}")
    if name not in STARTERS:
        raise UsageError(
            unknown(f"hark init knows no agent {name!r} ({', '.join(STARTERS)})", name, STARTERS)
        )
    starter = STARTERS[name]
    shown = shlex.quote(path) if path.isprintable() else "FILE"
    write_new(path, starter.text.replace("policy.toml", shown).encode())
    output.say(f"wrote {path}")
    if starter.variable not in os.environ:
        output.say(f"set {starter.variable} in your environment: the agent gets a placeholder, not the value")
    output.say(f"hark run -policy {shown} -- {starter.command}")
    return 0
