"""The OpenAI Agents SDK, as its users use it: tools in parallel, a hand-over, traces sent by a thread."""

from typing import Final

from fidelity.heavy import mended
from fidelity.scripted import Turn, Use, responses
from fidelity.serving import built
from fidelity.shape import Outcome, Shape
from fidelity.talks import KEY

SCRIPT: Final = {
    "ledger right": [
        Turn("I look.", [Use("run", {"command": mended.DRAWS}), Use("read", {"path": "ledger.py"})]),
        Turn("I mend.", [Use("edit", {"path": "ledger.py", "old": "split()[0]", "new": "split()[1]"})]),
        Turn("You try.", [Use("transfer_to_checker", {})]),
        Turn("I try.", [Use("run", {"command": mended.TRY}), Use("run", {"command": mended.DRAWS})]),
        Turn(mended.DONE),
    ]
}


def expect(run: Outcome) -> None:
    """Five turns were asked for, and the file is mended."""
    mended.expect(run, "/v1/responses", turns=5)


SHAPE = Shape(
    about="the OpenAI Agents SDK: tools in parallel, a hand-over, traces exported by a thread",
    serve=built(lambda server: responses(server, SCRIPT), "api.openai.com"),
    expect=expect,
    caller={"REAL_KEY": KEY},
    agents=True,
)
