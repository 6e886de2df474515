import pytest

from hark.bundle import outcome
from hark.bundle.events import RunEnd


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (RunEnd(reason="exit"), "the run ended with exit code 0"),
        (RunEnd(reason="exit", exit_code=3), "the run ended with exit code 3"),
        (RunEnd(reason="exit: after SIGTERM"), "the run ended with exit code 0 (after SIGTERM)"),
        (
            RunEnd(reason="interrupted: limits.time was reached", exit_code=124),
            'the run was interrupted ("limits.time was reached")',
        ),
        (RunEnd(reason=outcome.reason(outcome.SIGNAL, "SIGTERM")), "the run was ended by signal SIGTERM"),
        (
            RunEnd(reason=outcome.reason(outcome.NEVER_STARTED, "command not found")),
            'the run never started ("command not found")',
        ),
        (RunEnd(reason="interrupted"), "the run was interrupted"),
        (RunEnd(reason="recorder-failed"), "the recorder failed and the run was ended"),
        (RunEnd(reason="fork-diverged: event 4"), 'the fork diverged from its parent ("event 4")'),
        (RunEnd(reason="perfectly fine"), 'the run ended for the reason "perfectly fine"'),
        (RunEnd(reason="exit: \x1b[2J"), 'the run ended for the reason "exit: \\e[2J"'),
        (None, "how the run ended is not recorded"),
    ],
)
def test_each_outcome_is_told_apart_in_words(end, words):
    assert outcome.describe(end) == words


def test_only_exit_with_code_zero_is_success():
    assert outcome.succeeded(RunEnd(reason="exit"))
    assert not outcome.succeeded(RunEnd(reason="exit: after SIGINT"))
    assert not outcome.succeeded(RunEnd(reason="exit: in a way"))
    for end in (None, RunEnd(reason="exit", exit_code=1), *(RunEnd(reason=word) for word in outcome._WORDS)):
        assert not outcome.succeeded(end)


@pytest.mark.parametrize(
    "word", [outcome.EXIT, outcome.SIGNAL, outcome.NEVER_STARTED, outcome.RECORDER_FAILED]
)
def test_a_reason_splits_into_what_it_was_made_of(word):
    assert outcome.split(outcome.reason(word, "some detail")) == (word, "some detail")
    assert outcome.split(outcome.reason(word)) == (word, "")
