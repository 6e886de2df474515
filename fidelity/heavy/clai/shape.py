"""Pydantic AI's own command, with an agent of a few lines that has two tools."""

from typing import Final

from fidelity.heavy import mended
from fidelity.scripted import Turn, Use, completions
from fidelity.serving import built
from fidelity.shape import PYTHON, Outcome, Shape
from fidelity.talks import KEY

SCRIPT: Final = {
    "ledger right": [
        Turn("I look.", [Use("run", {"command": mended.DRAWS}), Use("read", {"path": "ledger.py"})]),
        Turn("I mend.", [Use("edit", {"path": "ledger.py", "old": "split()[0]", "new": "split()[1]"})]),
        Turn("I try.", [Use("run", {"command": mended.TRY})]),
        Turn(mended.DONE),
    ]
}


def expect(run: Outcome) -> None:
    """Four turns were asked for, and the file is mended."""
    mended.expect(run, "/v1/chat/completions", turns=4)


SHAPE = Shape(
    about="clai, the command of Pydantic AI, unmodified: tools in parallel, streamed",
    serve=built(lambda server: completions(server, SCRIPT), "api.openai.com"),
    expect=expect,
    command=(PYTHON, "-m", "clai", "-a", "agent:agent", mended.PROMPT),
    caller={"REAL_KEY": KEY},
    agents=True,
)
