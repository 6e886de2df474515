"""What replay, fork, bisect and compare have alike: the words they read, and the codes they end with."""

import io
import os

import pytest

from hark.cli import again, bisect, compare, fork, options, replay
from hark.cli.spec import parse
from hark.errors import ConfinementError, PatchError, PolicyError, RecordError, ReplayError, UsageError
from hark.rerun.admitting import ALWAYS, ONCE
from tests.support.recordings import bundle


def test_the_same_words_are_the_same_request_of_each_command(tmp_path):
    path = bundle(tmp_path / "run.hark")
    words = ["-read", "r", "-write", "w", "-workdir", "d", "-o", "o", "-key", "y", "-trusted-keys", "t", path]
    read = [again.asked(parse(one.SPEC, words)) for one in (replay, fork, bisect)]
    assert read[0] == read[1] == read[2]
    assert (read[0].bundle, read[0].given.policy, read[0].trust) == (path, None, False)


def test_a_policy_is_a_word_for_the_bundle_only_where_the_command_says_so(tmp_path):
    args = parse(fork.SPEC, ["-policy", "p", bundle(tmp_path / "run.hark")])
    assert again.asked(args).given.policy is None
    assert again.asked(args, "p").given.policy == "p"


def test_what_is_passed_on_is_what_every_fork_takes():
    known = {option.name: option for option in options.FORKED} | {"key": options.SIGN}
    assert {*again.PASSED_ON, *again.SWITCHES} == known.keys() - {"set"}
    assert [name for name in again.SWITCHES if known[name].value] == []
    args = parse(compare.SPEC, ["-read", "a", "-read=b", "-via-proxy", "-policy", "-x", "run.hark"])
    assert again.passed_on(args) == ("-policy=-x", "-read=a", "-read=b", "-via-proxy")


@pytest.mark.parametrize(
    ("error", "as_what"),
    [
        (PolicyError("p"), UsageError),
        (ConfinementError("c"), ReplayError),
        (RecordError("r"), ReplayError),
        (PatchError("p"), PatchError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_what_goes_wrong_has_one_code_in_all_of_them(error, as_what):
    with pytest.raises(as_what), again.refusals():
        raise error


@pytest.mark.parametrize(
    ("words", "seconds"), [([], None), (["-timeout", "1"], 1), (["-timeout=604800"], 604800)]
)
def test_a_fork_has_the_time_that_is_given(words, seconds):
    assert again.time_limit(parse(compare.SPEC, [*words, "run.hark"])) == seconds


@pytest.mark.parametrize("number", ["0", "604801"])
def test_no_time_and_more_than_a_week_are_refused(number):
    with pytest.raises(UsageError, match="-timeout takes a number from 1 to 604800"):
        again.time_limit(parse(bisect.SPEC, ["-timeout", number, "run.hark"]))


def test_nobody_is_asked_where_nobody_sits(monkeypatch):
    monkeypatch.setattr("os.isatty", lambda descriptor: descriptor == 2)
    assert again.asker() is None


@pytest.mark.parametrize(
    ("typed", "meant"), [("y\n", ONCE), ("T\n", ALWAYS), ("\n", ""), ("", ""), ("yep\n", "")]
)
def test_who_is_asked_has_to_say_yes(monkeypatch, typed, meant):
    monkeypatch.setattr("os.isatty", lambda descriptor: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    ask = again.asker()
    assert ask is not None
    assert ask("somebody") == meant


def test_the_verdict_has_standard_output_for_itself(capfd):
    kept = again.set_output_apart()
    os.write(1, b"the agent's\n")
    again.print_json(kept, {"verdict": "x"})
    out, err = capfd.readouterr()
    assert (out, err) == ('{"verdict": "x"}\n', "the agent's\n")
