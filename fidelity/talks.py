"""For shapes that talk to a model: what must be seen of a conversation of two turns with two tools."""

import json
from typing import Final

from fidelity.shape import Outcome

KEY: Final = "sk-test-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"


def talked(run: Outcome, path: str, conversations: int) -> None:
    """Make sure that each conversation had both turns, with the key, and ended with what the tools said."""
    bodies = [json.loads(body) for body in run.served.bodies(path)]
    assert len(bodies) == 2 * conversations, len(bodies)
    assert all(KEY in str(one.headers) for one in run.served.seen)
    assert KEY.encode() not in run.desk.bundle.read_bytes()
    said = [line for line in run.lines if line.startswith("They say ")]
    assert len(said) == conversations, run.out
    assert all("ünïque means " in line for line in said)
