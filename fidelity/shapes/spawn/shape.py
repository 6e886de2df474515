"""Four processes that multiprocessing starts anew; the program is that of `fork`."""

from fidelity.concurrent import steps, tickets
from fidelity.serving import built
from fidelity.shape import HERE, PYTHON, Outcome, Shape


def expect(run: Outcome) -> None:
    """Each took its two steps, with draws that differ."""
    steps(run, workers=4, each=2)


SHAPE = Shape(
    about="4 processes by spawn, one task each",
    serve=built(tickets),
    expect=expect,
    command=(PYTHON, "agent.py", "spawn"),
    files={"agent.py": HERE / "shapes" / "fork" / "agent.py"},
)
