"""mini-swe-agent: a coding agent that does all its work by shell lines, and writes down its way."""

from typing import Final

from fidelity.heavy import mended
from fidelity.scripted import Turn, Use, completions
from fidelity.serving import built
from fidelity.shape import PYTHON, Outcome, Shape
from fidelity.talks import KEY


def bash(command: str) -> Use:
    """Run a shell line."""
    return Use("bash", {"command": command})


SCRIPT: Final = {
    "ledger right": [
        Turn("I look.", [bash(mended.DRAWS), bash("cat ledger.py")]),
        Turn("I mend.", [bash("sed -i 's/\\[0\\]/[1]/' ledger.py")]),
        Turn("I try.", [bash(mended.TRY)]),
        Turn(mended.DONE, [bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")]),
    ]
}


def expect(run: Outcome) -> None:
    """Four turns were asked for, and the file is mended."""
    mended.expect(run, "/v1/chat/completions", turns=4)


SHAPE = Shape(
    about="mini-swe-agent, unmodified: shell lines, through litellm",
    serve=built(lambda server: completions(server, SCRIPT), "api.openai.com"),
    expect=expect,
    command=(
        PYTHON,
        "-m",
        "minisweagent.run.mini",
        "-y",
        "--exit-immediately",
        "-l",
        "0",
        "-m",
        "openai/stub",
        "-t",
        mended.PROMPT,
    ),
    caller={"REAL_KEY": KEY},
    agents=True,
)
