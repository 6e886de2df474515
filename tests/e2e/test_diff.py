"""`hark diff` on bundles that real runs left: a run and its replay, and a run whose answer was another."""

import json
from pathlib import Path

import pytest

from hark.bundle.events import LlmResponseChunk
from tests.e2e.rig import Desk, ok
from tests.e2e.test_replay import record
from tests.support.rerecorded import Told, retell

pytestmark = pytest.mark.e2e


def another(events: list[Told]) -> list[Told]:
    """Change one byte of the last answer."""
    last = max(at for at, (_, event) in enumerate(events) if isinstance(event, LlmResponseChunk))
    time, event = events[last]
    events[last] = time, event._replace(data=event.data[:-1] + b"\x1b")
    return events


def test_a_run_equals_its_replay_and_not_one_whose_answer_was_another(at: Desk) -> None:
    record(at)
    replayed = at.project.parent / "replayed.hark"
    ok(at.hark("replay", "-o", str(replayed), str(at.bundle)))
    same = ok(at.hark("diff", str(at.bundle), str(replayed)))
    assert same.stdout.startswith("equal, ")
    assert len(same.stdout.splitlines()) == 1
    changed = Path(retell(at.bundle, at.project.parent / "changed.hark", another))
    changed.chmod(0o644)
    done = ok(at.hark("diff", str(at.bundle), str(changed)), 1)
    assert "\x1b" not in done.stdout
    assert "\n~ request POST api.example" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(" equal, 1 changed, 0 removed, 0 added")
    lines = ok(at.hark("diff", "-json", str(at.bundle), str(changed)), 1).stdout.splitlines()
    (found,) = [one for one in map(json.loads, lines) if one["type"] == "changed"]
    assert [one["where"] for one in found["differences"]] == ["answer"]
