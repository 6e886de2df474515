"""How a run ended, told from what was seen of it."""

import signal

import pytest

from launcher.report import Ended


@pytest.mark.parametrize(
    ("ended", "interrupted"),
    [
        (Ended(code=0), None),
        (Ended(code=143), None),
        (Ended(signal=signal.SIGTERM), None),
        (Ended(code=0, passed_on=signal.SIGTERM), None),
        (Ended(code=1, passed_on=signal.SIGINT), None),
        (Ended(signal=signal.SIGKILL, passed_on=signal.SIGTERM), None),
        (Ended(code=143, passed_on=signal.SIGTERM), signal.SIGTERM),
        (Ended(signal=signal.SIGINT, passed_on=signal.SIGINT), signal.SIGINT),
    ],
)
def test_a_run_is_interrupted_only_if_it_ended_of_what_was_passed_on(
    ended: Ended, interrupted: int | None
) -> None:
    assert ended.interrupted == interrupted


def test_the_status_is_a_shells() -> None:
    assert Ended(code=7).status == 7
    assert Ended(signal=signal.SIGKILL).status == 137


def test_a_run_that_waited_for_all_and_was_cut_short_is_interrupted() -> None:
    assert Ended(code=0, passed_on=signal.SIGTERM, cut_short=True).interrupted == signal.SIGTERM
    assert Ended(code=0, passed_on=signal.SIGTERM).interrupted is None
