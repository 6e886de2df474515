"""Which runs may go: those that have ended, oldest first, by number or by age."""

import pytest

from hark import runs
from hark.bundle import events as ev
from hark.bundle.header import Header
from hark.bundle.store import KILLED, RUNNING, SEALED, UNREADABLE, Run
from hark.errors import UsageError
from tests.hark.cli import sample

SECOND = 1_000_000_000


def run(name, state, started):
    header = None if state == UNREADABLE else Header(name, started * SECOND)
    return Run(name, f"/nowhere/{name}.hark", state, 1, 1, header)


ALL = [
    run("e", SEALED, 50),
    run("a", RUNNING, 10),
    run("c", SEALED, 30),
    run("b", KILLED, 20),
    run("x", UNREADABLE, 0),
]


def names(found):
    return [one.run_id for one in found]


@pytest.mark.parametrize(("keep", "gone"), [(0, "bce"), (1, "bc"), (2, "b"), (3, ""), (99, "")])
def test_the_newest_ended_runs_are_kept(keep, gone):
    assert names(runs.removable(ALL, runs.Keep(keep, None), 0)) == list(gone)


@pytest.mark.parametrize(
    ("age", "now", "gone"), [(0, 60, "bce"), (50, 60, ""), (30, 60, "b"), (30, 61, "bc"), (70, 80, "")]
)
def test_what_is_younger_than_the_age_is_kept(age, now, gone):
    assert names(runs.removable(ALL, runs.Keep(None, age), now * SECOND)) == list(gone)


@pytest.mark.parametrize(
    ("text", "keep"),
    [("0", (0, None)), ("20", (20, None)), ("90s", (None, 90)), ("30m", (None, 1800)), ("12h", (None, 43200)),
     ("30d", (None, 2592000)), ("2w", (None, 1209600))],
)  # fmt: skip
def test_keep_is_a_number_of_runs_or_an_age(text, keep):
    assert runs.parse_keep(text) == keep


@pytest.mark.parametrize("text", ["", "d", "-1", "1.5d", "3y", "1_0", "²", "9" * 10, " 3", "3 d"])
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError, match="-keep needs a number of runs"):
        runs.parse_keep(text)


def test_the_command_is_that_of_run_start(tmp_path):
    path = str(sample.write(tmp_path / "a.hark"))
    assert runs.opening(Run("a", path, SEALED, 1, 13, Header())).command == ("python", "agent.py")


def test_a_file_that_went_away_or_begins_with_something_else_has_no_command(tmp_path):
    assert runs.opening(Run("a", str(tmp_path / "no"), SEALED, 1, 13, Header())) == runs.Opening()
    path = str(sample.write(tmp_path / "a.hark", sample.EVENTS[1:]))
    assert runs.opening(Run("a", path, SEALED, 1, 12, Header())) == runs.Opening()
    assert runs.opening(Run("a", path, SEALED, 1, 0, Header())) == runs.Opening()


def test_a_replay_says_what_it_replays_and_a_recording_does_not(tmp_path):
    def opening(name, **said):
        begun = (*sample.EVENTS[:2], ev.Determinism(b"s" * 32, **said), *sample.EVENTS[2:])
        path = str(sample.write(tmp_path / name, begun))
        return runs.opening(Run("a", path, SEALED, 1, 14, Header()))

    assert opening("run.hark") == runs.Opening(("python", "agent.py"), b"")
    assert opening("replay.hark", replayed=b"r" * 32) == runs.Opening(("python", "agent.py"), b"r" * 32)
