"""`hark diff` on bundles that real runs left: a run and its replay, and a run whose answer was another."""

import json
from pathlib import Path

import pytest

from hark.bundle.events import LlmResponseChunk
from tests.e2e.rig import Desk, ok
from tests.e2e.test_fork import STRIP, fork, live, upstream  # noqa: F401 (a fixture)
from tests.e2e.test_fork import record as record_model
from tests.e2e.test_replay import record
from tests.fakes.upstream import Upstream
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


def test_a_fork_is_held_against_its_parent_from_the_branch_point_on(
    rootless: Desk,
    upstream: Upstream,  # noqa: F811 (the fixture above)
) -> None:
    record_model(rootless, upstream)
    patch = rootless.write("strip.json", json.dumps(STRIP))
    ok(fork(rootless, "-at", "page.example/today", "-patch", patch, *live(rootless, upstream)))
    child = rootless.project.parent / "fork.hark"
    told = ok(rootless.hark("diff", rootless.bundle, child), 1).stdout
    print(told)
    assert "\nB is a fork of A from its event " in told
    assert f"(response), confirmed by its root: {STRIP['note']}\n" in told
    assert "\n- denied name sink.example  (event " in told
    assert "~ request GET page.example/today  (event " in told
    tree = ok(rootless.hark("tree", rootless.project.parent)).stdout.splitlines()
    print(tree)
    (parent,) = [at for at, line in enumerate(tree) if line.startswith("run.hark  ")]
    assert tree[parent + 1].startswith("  fork.hark  FORK from event ")
    assert STRIP["note"] in tree[parent + 1]


def test_a_file_that_two_runs_left_otherwise_is_shown_by_line(at: Desk) -> None:
    at.write("notes.txt", "one\ntwo\nthree\n")
    other = at.project.parent / "other.hark"
    script = "sed -i s/two/$1/ notes.txt; [ $1 = two ] || echo made > new.txt"
    ok(at.hark("run", "-o", str(at.bundle), "--", "sh", "-c", script, "sh", "two"))
    ok(at.hark("run", "-o", str(other), "--", "sh", "-c", script, "sh", "2"))
    told = ok(at.hark("diff", str(at.bundle), str(other)), 1).stdout
    print(told)
    assert "\n+ file notes.txt  (event " in told
    assert "\n       one\n      -two\n      +2\n       three\n" in told
    assert "\n+ file new.txt  (event " in told
    assert "    content is new\n" in told
    assert "      +made\n" in told
