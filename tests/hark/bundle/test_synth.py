import pytest

from hark.bundle.synth import MIN_EVENTS, corrupt, synthesize, truncate
from hark.errors import UsageError
from hark.verify import BROKEN, TRUNCATED, VERIFIED, verify
from tests.hark.bundle.bundles import KEY


@pytest.mark.parametrize("events", [MIN_EVENTS, 4, 50])
def test_a_synthetic_bundle_has_so_many_events_and_is_the_same_each_time(tmp_path, events):
    synthesize(str(tmp_path / "a"), events, 520, KEY)
    synthesize(str(tmp_path / "b"), events, 520, KEY)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    result = verify(str(tmp_path / "a"), [KEY.public_key])
    assert (result.verdict, result.events) == (VERIFIED, events)


def test_events_have_about_the_size_that_was_asked_for(tmp_path):
    synthesize(str(tmp_path / "a"), 103, 520)
    assert abs((tmp_path / "a").stat().st_size / 103 - 520 - 85) < 10


@pytest.mark.parametrize("seq", [0, 7, 19])
def test_a_corrupt_event_is_the_one_that_is_named(tmp_path, seq):
    synthesize(str(tmp_path / "a"), 20)
    corrupt(str(tmp_path / "a"), seq)
    [finding] = verify(str(tmp_path / "a")).findings
    assert (finding.verdict, finding.seq, finding.nature) == (BROKEN, seq, "edit")


@pytest.mark.parametrize("seq", [0, 7, 19])
def test_a_truncated_bundle_keeps_the_events_before(tmp_path, seq):
    synthesize(str(tmp_path / "a"), 20)
    truncate(str(tmp_path / "a"), seq)
    result = verify(str(tmp_path / "a"))
    assert (result.verdict, result.events) == (TRUNCATED, seq)


def test_what_cannot_be_made_is_refused_in_words(tmp_path):
    with pytest.raises(UsageError, match="at least 3"):
        synthesize(str(tmp_path / "a"), 2)
    synthesize(str(tmp_path / "b"), 3)
    for spoil in (corrupt, truncate):
        with pytest.raises(UsageError, match="no event 3"):
            spoil(str(tmp_path / "b"), 3)
