"""The task that the agents share: a ledger is added up from the wrong column, and is to be put right."""

from typing import Final

from fidelity.shape import Outcome
from fidelity.talks import KEY

PROMPT: Final = "Put the ledger right."
DONE: Final = "It is right now."
TRY: Final = """python3 -c "import ledger; print(ledger.total(open('ledger.txt').readlines()))" """.strip()
DRAWS: Final = "echo $RANDOM; date -u +%FT%T.%N; mktemp -u; cat /proc/sys/kernel/random/uuid"
"""What differs in each run, unless it is served."""


def expect(run: Outcome, path: str, turns: int) -> None:
    """Make sure that so many turns were asked for, that the file is mended, and that its sum was seen."""
    bodies = run.served.bodies(path)
    assert len(bodies) >= turns, len(bodies)
    assert "split()[1]" in (run.desk.project / "ledger.py").read_text()
    assert b"757" in bodies[-1], bodies[-1][-3000:]
    assert DONE in run.out
    assert all(KEY in str(one.headers) for one in run.served.seen if one.path.startswith(path))
    assert KEY.encode() not in run.desk.bundle.read_bytes()
