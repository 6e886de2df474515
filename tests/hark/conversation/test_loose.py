"""JSON of strangers: whatever it is, it reads as something."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.conversation import loose


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b"[" * 150 + b"]" * 150,
        b"1" * 5000,
        b'{"a":' * 101 + b"1" + b"}" * 101,
    ],
)
def test_what_cannot_be_read_or_nests_too_deep_is_nothing(data: bytes) -> None:
    assert loose.load(data) is None


def test_what_nests_less_is_read_and_written_again() -> None:
    assert loose.dump(loose.load(b"[" * 90 + b'"\xc3\xa9"' + b"]" * 90)) == "[" * 90 + '"é"' + "]" * 90


def test_types_are_told_apart() -> None:
    value = {"a": {"b": [1, {"c": True}, "x"]}, "n": -1}
    assert loose.at(value, "a", "b") == [1, {"c": True}, "x"]
    assert loose.at(value, "n", "b") is None
    assert list(loose.objects(loose.at(value, "a", "b"))) == [{"c": True}]
    assert [loose.number(one) for one in (3, True, -1, 1.5, 1 << 70, "3")] == [
        3,
        None,
        None,
        None,
        None,
        None,
    ]
    assert (loose.text(3), loose.text("3")) == ("", "3")


@given(st.binary(max_size=100))
def test_any_bytes_read(data: bytes) -> None:
    value: Any = loose.load(data)
    assert isinstance(loose.dump(value), str)
