"""`llm`, a command with tools: what it asks and is answered goes into a log in SQLite too."""

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
    about="llm, unmodified: tools from a file, streamed, a log in SQLite",
    serve=built(lambda server: completions(server, SCRIPT), "api.openai.com"),
    expect=expect,
    command=(PYTHON, "-m", "llm", "--functions", "tools.py", "-m", "gpt-4o-mini", mended.PROMPT),
    caller={"REAL_KEY": KEY},
    agents=True,
)
