"""What counts as equal: the verdict, and everything that can be seen from outside."""

import pytest

from fidelity.replaying import Replayed, first_difference

RECORDED = "one\ntwo\n"


def replayed(
    code: int | None = 0, out: str = RECORDED, err: str = "", sent: int | None = 0, dialled: int = 0
):
    return Replayed(code, out, err, sent, dialled, 0.1)


def test_a_replay_that_is_equal_in_every_way_has_no_fault() -> None:
    assert replayed(err="hark: REPLAY-EQUAL, 3 actions\n").fault(RECORDED) == ""
    assert replayed(out=f"{RECORDED}REPLAY-EQUAL, 3 actions\n", sent=None).fault(RECORDED) == ""


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (
            replayed(code=1, err="hark: REPLAY-DIVERGED at action 4\nhark: the body differs\n"),
            "REPLAY-DIVERGED at",
        ),
        (replayed(code=1), "exit 1"),
        (replayed(code=4, err="hark: BROKEN: the root\n"), "BROKEN"),
        (replayed(code=None), "did not end"),
        (replayed(out="one\nthree\n"), "AND YET printed otherwise: line 2 was 'two' and is 'three'"),
        (replayed(out="one\n"), "2 lines were printed, and now 1"),
        (replayed(sent=1), "AND YET it sent 1 packets"),
        (replayed(dialled=1), "dialled 1 times"),
        (replayed(code=1, sent=1), "it sent 1 packets"),
    ],
)
def test_what_is_not_equal_is_named(got: Replayed, words: str) -> None:
    assert words in got.fault(RECORDED)


def test_the_first_line_that_differs_is_shown_from_both_sides() -> None:
    assert first_difference(["a", "b"], ["a", "c"]) == "line 2 was 'b' and is 'c'"
