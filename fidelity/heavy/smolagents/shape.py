"""smolagents: the model answers with Python, which the agent executes."""

from typing import Final

from fidelity.heavy import mended
from fidelity.scripted import Turn, completions
from fidelity.serving import built
from fidelity.shape import Outcome, Shape
from fidelity.talks import KEY


def code(text: str) -> Turn:
    """A turn that executes Python."""
    return Turn(f"Thought: so.\n<code>\n{text}\n</code>")


LOOK: Final = f"""import random, datetime
print(random.random(), datetime.datetime.now())
print(run({mended.DRAWS!r}))"""
SCRIPT: Final = {
    "ledger right": [
        code(LOOK),
        code("print(edit('ledger.py', 'split()[0]', 'split()[1]'))"),
        code(f"print(run({mended.TRY!r}))"),
        code(f"final_answer({mended.DONE!r})"),
    ]
}


def expect(run: Outcome) -> None:
    """Four turns were asked for, and the file is mended."""
    mended.expect(run, "/v1/chat/completions", turns=4)


SHAPE = Shape(
    about="smolagents: Python written by the model, executed by the agent",
    serve=built(lambda server: completions(server, SCRIPT), "api.openai.com"),
    expect=expect,
    caller={"REAL_KEY": KEY},
    agents=True,
)
