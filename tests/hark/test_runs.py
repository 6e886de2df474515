"""Which runs may go: those that have ended, oldest first, by number or by age."""

import pytest

from hark import runs
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
    assert runs.command(Run("a", path, SEALED, 1, 13, Header())) == ("python", "agent.py")


def test_a_file_that_went_away_or_begins_with_something_else_has_no_command(tmp_path):
    assert runs.command(Run("a", str(tmp_path / "no"), SEALED, 1, 13, Header())) == ()
    path = str(sample.write(tmp_path / "a.hark", sample.EVENTS[1:]))
    assert runs.command(Run("a", path, SEALED, 1, 12, Header())) == ()
    assert runs.command(Run("a", path, SEALED, 1, 0, Header())) == ()
