"""Runs side by side: the answers are those of one at a time, and the budget holds."""

from collections.abc import Callable

import pytest

from hark.bisect.counting import Rule, Shown
from hark.bisect.driver import Done, Driver, Job, Question, Spent


class Oracle:
    """A Runner whose runs end in whatever order it is told, the latest first by default."""

    def __init__(self, shown: Callable[[bytes, int], Shown], pick: Callable[[list[Job]], int] = lambda _: -1):
        self.shown = shown
        self.pick = pick
        self.under_way: list[Job] = []
        self.begun: list[tuple[bytes, int]] = []
        self.most = 0

    def begin(self, job: Job) -> None:
        self.under_way.append(job)
        self.begun.append((job.question.patch, job.trial))
        self.most = max(self.most, len(self.under_way))

    def ended(self) -> Done:
        job = self.under_way.pop(self.pick(self.under_way))
        return Done(job.question.key, job.trial, self.shown(job.question.patch, job.trial))

    def drop(self) -> None:
        self.under_way.clear()


def only(*flipping: bytes) -> Callable[[bytes, int], Shown]:
    return lambda patch, _: Shown.GONE if patch in flipping else Shown.SEEN


def driver(oracle: Oracle, **named: int) -> Driver:
    return Driver(oracle, lambda _: None, **named)


QUESTIONS = [Question(3, bytes([letter])) for letter in b"abcdef"]


@pytest.mark.parametrize("jobs", [1, 2, 5, 20])
@pytest.mark.parametrize("pick", [lambda _: -1, lambda _: 0])
def test_the_first_in_order_is_the_answer_however_many_run_at_a_time(
    jobs: int, pick: Callable[[list[Job]], int]
) -> None:
    oracle = Oracle(only(b"c", b"e"), pick)
    assert driver(oracle, jobs=jobs).first(QUESTIONS, Rule()) == 2
    assert oracle.under_way == []
    assert oracle.most <= jobs


def test_one_at_a_time_nothing_is_run_that_is_not_needed() -> None:
    oracle = Oracle(only(b"c"))
    one = driver(oracle)
    assert one.first(QUESTIONS, Rule()) == 2
    assert oracle.begun == [(b"a", 0), (b"b", 0), (b"c", 0)]
    assert one.first(QUESTIONS[:2], Rule()) is None
    assert one.runs == 3


def test_a_question_that_cannot_be_asked_is_passed_over() -> None:
    assert driver(Oracle(only(b"b"))).first([None, QUESTIONS[0], QUESTIONS[1]], Rule()) == 2
    assert driver(Oracle(only())).first([None], Rule()) is None
    assert driver(Oracle(only())).first([], Rule()) is None


def test_trials_of_one_question_run_side_by_side_and_stop_when_it_is_decided() -> None:
    oracle = Oracle(lambda patch, trial: Shown.SEEN if trial == 1 else Shown.GONE, lambda _: 0)
    one = driver(oracle, jobs=2)
    assert one.first(QUESTIONS[:1], Rule(5)) is None
    assert oracle.begun == [(b"a", 0), (b"a", 1), (b"a", 2)]
    assert oracle.under_way == []


def test_the_same_question_twice_is_run_once() -> None:
    oracle = Oracle(only())
    assert driver(oracle, jobs=4).first([QUESTIONS[0], QUESTIONS[0]], Rule()) is None
    assert oracle.begun == [(b"a", 0)]


def test_at_another_branch_point_it_is_another_question() -> None:
    assert Question(3, b"a").key != Question(4, b"a").key


def test_no_run_begins_beyond_the_budget() -> None:
    oracle = Oracle(only())
    one = driver(oracle, jobs=4, most=3)
    with pytest.raises(Spent):
        one.first(QUESTIONS, Rule())
    assert (one.runs, len(oracle.begun)) == (3, 3)


def test_what_is_known_from_before_is_not_run_and_counts_for_the_budget() -> None:
    oracle = Oracle(only(b"b"))
    one = driver(oracle, most=2)
    one.learn(Done(QUESTIONS[0].key, 0, Shown.SEEN))
    one.learn(Done(QUESTIONS[0].key, 0, Shown.SEEN))
    assert one.first(QUESTIONS, Rule()) == 1
    assert oracle.begun == [(b"b", 0)]


def test_every_run_is_noted_before_it_counts() -> None:
    noted: list[int] = []
    one = Driver(Oracle(only()), lambda done: noted.append(one.runs))
    one.times(QUESTIONS[0], 3)
    assert noted == [0, 1, 2]


def test_each_question_is_decided_and_all_trials_are_made_where_they_are_asked_for() -> None:
    one = driver(Oracle(only(b"a")), jobs=3)
    tallies = one.each(QUESTIONS[:3], Rule(2))
    assert [Rule(2).is_gone(tally) for tally in tallies] == [True, False, False]
    tally = one.times(QUESTIONS[1], 4)
    assert (tally.seen, tally.runs) == (4, 4)


def test_a_question_that_is_asked_anew_forgets_an_earlier_process_and_not_this_one() -> None:
    oracle = Oracle(only(b"a"))
    one = driver(oracle)
    kept = Done(QUESTIONS[0].key, 0, Shown.SEEN)
    later = Done(QUESTIONS[0].key, 1, Shown.SEEN)
    other = Done(QUESTIONS[1].key, 0, Shown.SEEN)
    for done in (kept, later, other):
        one.remember(done)
    one.renew(QUESTIONS[0], 1)
    assert (one.tally(kept.key).seen, one.runs) == (1, 2)
    one.renew(QUESTIONS[0])
    assert (one.tally(kept.key).runs, one.runs) == (0, 1)
    assert one.each(QUESTIONS[:1], Rule())[0].gone == 1
    one.renew(QUESTIONS[0])
    assert (one.tally(kept.key).gone, one.tally(other.key).seen) == (1, 1)
    assert oracle.begun == [(b"a", 0)]
