"""`hark doctor`: whether this machine can confine an agent, and which setting to change where it cannot."""

from typing import Final

from hark.cli.spec import Args, Spec

SPEC: Final = Spec(
    "doctor",
    "check that this machine can confine an agent",
    about=(
        "Tries each means of confinement that `hark run` needs, for real, in a child process. What could\n"
        "not be tried is unknown, and counts as missing. Exits with 1 unless every one of them is ok."
    ),
)


def run(_args: Args) -> int:
    """Print one line for each means of confinement."""
    from hark.cli import output
    from launcher.doctor import State, check

    findings = check()
    wide = max(len(finding.name) for finding in findings)
    for finding in findings:
        output.say(f"{finding.state.value:<7}  {finding.name:<{wide}}  {finding.words}")
    return 0 if all(finding.state is State.OK for finding in findings) else 1
