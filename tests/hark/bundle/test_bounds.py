import pytest

from hark.bundle import bounds
from hark.errors import BundleError


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        (bounds.RUN_START_KIND, bounds.RunStart(run_id="x", argv=("a", "b"), header_hash=b"h" * 32)),
        (bounds.RUN_END_KIND, bounds.RunEnd(5, -1, "signal SIGKILL")),
        (bounds.SEAL_KIND, bounds.Seal(b"f" * 32, {1: 1, 300: 7}, "exit", 9)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_each_bound_reads_back_exactly(kind, event):
    assert bounds.decode_exactly_as(kind, bounds.encode_as(kind, event, b"s" * 16)) == event


def test_a_seal_with_a_key_missing_is_not_exact():
    payload = bytes.fromhex("a1036465786974")
    assert bounds.decode_as(bounds.SEAL_KIND, payload).outcome == "exit"
    with pytest.raises(BundleError):
        bounds.decode_exactly_as(bounds.SEAL_KIND, payload)


def test_a_kind_that_nobody_knows_still_has_a_name():
    assert bounds.kind_name(99) == "kind 99"
    assert bounds.kind_name(11) == "EgressDecision"
