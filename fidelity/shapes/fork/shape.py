"""Four processes that multiprocessing forks."""

from fidelity.concurrent import steps, tickets
from fidelity.serving import built
from fidelity.shape import PYTHON, Outcome, Shape


def expect(run: Outcome) -> None:
    """Each took its two steps, with draws that differ."""
    steps(run, workers=4, each=2)


SHAPE = Shape(
    about="4 processes by fork, one task each",
    serve=built(tickets),
    expect=expect,
    command=(PYTHON, "agent.py", "fork"),
    quick=True,
)
