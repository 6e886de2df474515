"""`hark doctor`: whether this machine can confine an agent, and which setting to change where it cannot."""

from typing import Final

from hark.cli.spec import Args, Option, Spec

SPEC: Final = Spec(
    "doctor",
    "check that this machine can confine an agent",
    (Option("json", "print one JSON object for each finding: name, state, words, fix"),),
    about=(
        "Tries each means of confinement that `hark run` needs, for real, in a child process. What could\n"
        "not be tried is unknown, and counts as missing. Exits with 1 unless every one of them is ok."
    ),
)


def run(args: Args) -> int:
    """Print one line for each means of confinement, and below it what is more than a line."""
    import json

    from hark.cli import output
    from launcher.doctor import State, check

    findings = check()
    wide = max(len(finding.name) for finding in findings)
    for finding in findings:
        if args.flag("json"):
            values = (finding.name, finding.state.value, finding.words, finding.fix)
            output.say(json.dumps(dict(zip(("name", "state", "words", "fix"), values, strict=True))))
            continue
        output.say(f"{finding.state.value:<7}  {finding.name:<{wide}}  {finding.words}")
        for line in finding.fix.splitlines():
            output.say(f"    {line}")
    return 0 if all(finding.state is State.OK for finding in findings) else 1
