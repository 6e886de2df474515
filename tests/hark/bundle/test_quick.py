"""One pass reads what the strict reader reads, and leaves to it whatever that refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import cbor, quick
from hark.bundle import events as ev
from hark.bundle.fields import BOOL, BYTES, INT, PAIRS, TEXT, TEXT_MAP, UINT, load
from hark.bundle.quick import Quick
from hark.errors import BundleError

LAYOUT = {1: TEXT, 2: BYTES, 3: INT, 4: UINT, 5: BOOL, 6: TEXT_MAP, 32: PAIRS}
TEXTS = st.text(max_size=40) | st.text(min_size=250, max_size=300)
BYTES_ = st.binary(max_size=40) | st.binary(min_size=250, max_size=300)
PAIRS_ = st.tuples(BYTES_, BYTES_)
HEADERS = st.lists(PAIRS_, max_size=3) | st.lists(PAIRS_, min_size=22, max_size=26)
NAMES = st.dictionaries(TEXTS, TEXTS, max_size=3) | st.dictionaries(TEXTS, TEXTS, min_size=22, max_size=26)
MAPS = st.fixed_dictionaries(
    {},
    optional={
        1: TEXTS | st.none(), 2: BYTES_ | st.none(), 3: st.integers(-(2**63), 2**63 - 1),
        4: st.integers(0, 2**64 - 1), 5: st.booleans(), 6: NAMES,
        9: st.none() | TEXTS, 32: HEADERS, 63: BYTES_,
    },
)  # fmt: skip


def strictly(data: bytes) -> list[object] | None:
    """What the strict reader makes of it; None where it refuses it."""
    try:
        return load("thing", LAYOUT, cbor.decode(data))
    except BundleError:
        return None


def same(one: object, other: object) -> bool:
    """Also in type: an empty value that was given is another than none."""
    return repr(one) == repr(other) and [type(each) for each in one or ()] == [
        type(each) for each in other or ()
    ]  # type: ignore[attr-defined]


@given(MAPS)
def test_what_is_written_is_read_as_the_strict_reader_reads_it(raw: dict[int, object]) -> None:
    data = cbor.encode(raw)
    read = Quick(LAYOUT).values(data)
    assert read is not None
    assert same(read, strictly(data))


@given(MAPS, st.data())
def test_what_was_changed_is_read_alike_or_left_to_the_strict_reader(
    raw: dict[int, object], data: st.DataObject
) -> None:
    written = bytearray(cbor.encode(raw))
    for _ in range(data.draw(st.integers(1, 3))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(written[: data.draw(st.integers(0, len(written)))])
    for changed in (bytes(written), cut, bytes(written) + b"\0"):
        read = Quick(LAYOUT).values(changed)
        assert read is None or same(read, strictly(changed))


@pytest.mark.parametrize(
    "data",
    [
        "", "a1", "a101", "a10161", "a1016161ff", "a2016161016162", "a2026161016162", "a118016161",
        "a1016261ff", "a101f7", "a101c0", "a1015f", "a101780161", "a103f90000", "a1031bffffffffffffffff",
        "a10101", "80", "a106a2616261636161616a", "a1038000", "a10681", "a103" + "81" * 20 + "00",
    ],
)  # fmt: skip
def test_what_is_out_of_order_is_not_read(data: str) -> None:
    assert Quick(LAYOUT).values(bytes.fromhex(data)) is None


def test_data_that_might_hold_too_many_items_is_left_to_the_strict_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = cbor.encode({1: "x" * 20})
    assert Quick(LAYOUT).values(data) is not None
    monkeypatch.setattr(quick.cbor, "MAX_ITEMS", 10)
    assert Quick(LAYOUT).values(data) is None


@pytest.mark.parametrize("kind", ev.KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_read_in_one_pass(kind: ev.Kind) -> None:
    assert Quick(kind.layout).values(ev.encode(kind.event(), b"salt")) == list(kind.event())
