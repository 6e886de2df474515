"""Each replay has another time of day: ahead, behind, and further each time."""

import shutil
import time

import pytest

from fidelity import clock
from tests.support.user import ordinary_user, run_as

HOUR_S = 3600


def test_it_is_ahead_and_behind_by_turns_and_never_what_it_was() -> None:
    moves = [clock.seconds(turn) for turn in range(10)]
    assert len(set(moves)) == 10
    assert all(move > HOUR_S for move in moves[::2])
    assert all(move < -HOUR_S for move in moves[1::2])
    assert not any(abs(move) % (24 * HOUR_S) == 0 for move in moves)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
@pytest.mark.parametrize("turn", [0, 1])
def test_a_program_of_that_user_is_told_it(turn: int) -> None:
    with ordinary_user() as user:
        argv = ["/usr/bin/env", "date", "+%s"]
        env = dict(user.env) | clock.there(user, turn)
        moved = int(run_as(user, argv, env=env).stdout) - time.time()
        still = int(run_as(user, argv).stdout) - time.time()
    assert abs(moved - still - clock.seconds(turn)) < HOUR_S
    assert abs(still) < HOUR_S


def test_where_it_cannot_be_moved_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with ordinary_user() as user:
        assert clock.there(user, 0) == {}
