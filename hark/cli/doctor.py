"""`hark doctor`: whether this machine can confine an agent, and which setting to change where it cannot."""

import os
from typing import Final

from hark.cli.spec import Args, Option, Spec

SPEC: Final = Spec(
    "doctor",
    "check that this machine can confine an agent",
    (Option("json", "print one JSON object for each finding: name, state, words, fix"),),
    about=(
        "Tries each means of confinement that `hark run` needs, for real, in a child process. What could\n"
        "not be tried is unknown, and counts as missing. Without what is marked less a run works, and does\n"
        "less. Exits with 1 unless every other one is ok."
    ),
)


def run(args: Args) -> int:
    """Print one line for each means of confinement, and below it what is more than a line."""
    import json

    from hark.cli import output
    from hark.repeatable.shim_library import found
    from launcher.doctor import State, check

    findings = (*check(), found(os.environ))
    wide = max(len(finding.name) for finding in findings)
    for finding in findings:
        if args.flag("json"):
            values = (finding.name, finding.state.value, finding.words, finding.fix)
            output.say(json.dumps(dict(zip(("name", "state", "words", "fix"), values, strict=True))))
            continue
        output.say(f"{finding.state.value:<7}  {finding.name:<{wide}}  {finding.words}")
        for line in finding.fix.splitlines():
            output.say(f"    {line}")
    return 0 if all(finding.state in (State.OK, State.LESS) for finding in findings) else 1
