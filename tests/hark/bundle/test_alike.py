"""What is remembered of an event is what would be read of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import alike, cbor
from hark.bundle import events as ev
from hark.bundle.alike import ALIKE, MAX_KNOWN, Alike
from hark.bundle.frame import Frame
from hark.errors import BundleError

SALTS = st.binary(min_size=16, max_size=16)
ENDS = st.sampled_from(["", "\x18\x3f\x50", "\x18\x3fP0123456789abcdef"])
NAMES = st.text(max_size=30) | st.builds(str.__add__, st.text(max_size=5), ENDS)


def frame(kind: int, payload: bytes) -> Frame:
    return Frame(kind, 5, 0, bytes(32), payload, bytes(32))


def read(kind: int, payload: bytes) -> Any:
    """The event, or the words of what is wrong with it."""
    try:
        return ev.decode_frame(frame(kind, payload))
    except BundleError as error:
        return str(error)


def remembered(memory: Alike, kind: int, payload: bytes) -> Any:
    try:
        return memory.decode(frame(kind, payload))
    except BundleError as error:
        return str(error)


@given(st.lists(st.tuples(NAMES, NAMES, SALTS), max_size=6))
def test_an_event_is_the_same_whether_it_was_seen_before_or_not(many: list[tuple[str, str, bytes]]) -> None:
    memory = Alike()
    for name, kind, salt in many * 3:
        for event in (ev.DnsQuery(name, kind, 1), ev.EgressDecision(name, rule=kind, reason=kind)):
            payload = ev.encode(event, salt)
            assert memory.decode(frame(ev.kind_of(event), payload)) == event


@given(
    st.sampled_from(sorted(ALIKE)),
    st.binary(max_size=60),
    st.lists(SALTS, min_size=2, max_size=2),
    st.booleans(),
)
def test_bytes_that_anybody_chose_are_read_alike(
    kind: int, begin: bytes, salts: list[bytes], known: bool
) -> None:
    memory = Alike()
    for salt in salts:
        payload = begin + (b"\x18\x3f\x50" if known else b"") + salt
        assert remembered(memory, kind, payload) == read(kind, payload)


@pytest.mark.parametrize(
    "begin",
    [
        {1: "name", 62: "x"}, {1: "name", 63: b""}, {1: "name", 64: 1}, {1: 5}, {1: "name", 9: {1: 2}},
        dict.fromkeys(range(30, 54), 0),
    ],
)  # fmt: skip
def test_only_a_salt_behind_a_whole_payload_is_left_out(begin: dict[int, Any]) -> None:
    """In the last text of a payload may stand what looks like a salt; its bytes are part of the event."""
    memory = Alike()
    for salt in (b"0123456789abcdef", b"fedcba9876543210", b"a-third-salt----"):
        for text in (False, True):
            if text:
                payload = cbor.encode({**begin, 70: "\x18\x3fP" + salt.decode()})
            else:
                written = cbor.encode(begin)
                payload = bytes((written[0] + 1,)) + written[1:] + b"\x18\x3f\x50" + salt
            assert remembered(memory, 17, payload) == read(17, payload)
            assert remembered(memory, 18, payload) == read(18, payload)


def test_what_looks_like_a_salt_inside_a_name_is_kept_apart() -> None:
    memory = Alike()
    names = ["\x18\x3fP" + 16 * one for one in "abc"]
    payloads = [cbor.encode({2: name}) for name in names]
    assert all(payload[-19:-16] == b"\x18\x3f\x50" for payload in payloads)
    for name, payload in zip(names, payloads, strict=True):
        assert memory.decode(frame(17, payload)) == ev.DnsQuery("", name, 0)


def test_memory_is_bounded_and_an_event_that_repeats_is_decoded_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory, decoded = Alike(), list[Frame]()
    decode = ev.decode_frame

    def noted(one: Frame) -> Any:
        decoded.append(one)
        return decode(one)

    monkeypatch.setattr(alike.ev, "decode_frame", noted)
    for salt in range(10):
        memory.decode(frame(17, ev.encode(ev.DnsQuery("a.example", "A", 1), bytes([salt]) * 16)))
    assert len(decoded) == 2
    for number in range(3 * MAX_KNOWN):
        memory.decode(frame(17, ev.encode(ev.DnsQuery(f"{number}.example", "A", 1), bytes(16))))
    assert len(memory._known) <= MAX_KNOWN
