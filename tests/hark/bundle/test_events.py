import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import cbor, events
from hark.bundle.bounds import KIND_NAMES
from hark.bundle.hashing import leaf_hash
from hark.errors import BundleError, HarkError, RecordError
from tests.hark.bundle.bundles import vectors

VECTORS = vectors("events")["events"]
IDS = [f"{vector['name']} {vector['label']}" for vector in VECTORS]


@pytest.mark.parametrize("vector", VECTORS, ids=IDS)
def test_each_vector_decodes_and_encodes_to_the_same_bytes(vector):
    payload = bytes.fromhex(vector["payload"])
    event = events.decode(vector["kind"], payload)
    assert type(event).__name__ == vector["name"]
    assert events.kind_of(event) == vector["kind"]
    assert events.encode(event) == payload
    assert events.decode_exactly(vector["kind"], payload) == event
    assert leaf_hash(0, vector["kind"], payload).hex() == vector["leaf_seq0"]


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["label"] == "zero"], ids=lambda v: v["name"])
def test_a_class_without_arguments_is_the_zero_vector(vector):
    event = events.decode(vector["kind"], bytes.fromhex(vector["payload"]))
    assert event == type(event)()
    assert events.encode(type(event)()).hex() == vector["payload"]


def test_typical_values_land_in_the_fields_that_the_table_names():
    [vector] = [v for v in VECTORS if v["name"] == "LlmRequest" and v["label"] == "typical"]
    request = events.decode(5, bytes.fromhex(vector["payload"]))
    assert (request.host, request.method, request.path) == ("a.example", "POST", "/v1?x=1")
    assert (request.occurrence, request.streaming, request.exchange) == (2, True, 300)
    [vector] = [v for v in VECTORS if v["name"] == "RunStart" and v["label"] == "redirected"]
    start = events.decode(1, bytes.fromhex(vector["payload"]))
    assert start.upstreams == ("a.example=127.0.0.1:1", "b.example=127.0.0.1:2")


@pytest.mark.parametrize("kind", events.KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_a_key_for_each_field_and_one_name(kind):
    assert len(kind.layout) == len(kind.event._fields)
    assert KIND_NAMES[kind.number] == kind.name
    zero = kind.event()
    assert events.decode(kind.number, events.encode(zero)) == zero
    assert [shape.zero for shape in kind.layout.values()] == list(zero)


def test_the_table_and_the_names_hold_the_same_kinds():
    assert {kind.number for kind in events.KINDS} == set(KIND_NAMES)


@pytest.mark.parametrize("kind", events.KINDS, ids=lambda kind: kind.name)
def test_the_salt_is_written_beside_the_fields_and_skipped_when_read(kind):
    salted = events.encode(kind.event(), b"s" * 16)
    assert cbor.decode(salted)[63] == b"s" * 16
    assert events.decode_exactly(kind.number, salted) == kind.event()


def test_unknown_keys_are_skipped_but_are_not_what_we_would_have_written():
    payload = cbor.encode({1: "utc", 2: 5, 50: ["later"]})
    assert events.decode(13, payload) == events.ClockRead("utc", 5)
    with pytest.raises(BundleError, match="not written as hark writes it"):
        events.decode_exactly(13, payload)


def test_a_missing_key_is_the_zero_value_but_not_what_we_would_have_written():
    payload = cbor.encode({1: "utc"})
    assert events.decode(13, payload) == events.ClockRead("utc", 0)
    with pytest.raises(BundleError, match="not written as hark writes it"):
        events.decode_exactly(13, payload)


def test_raw_headers_keep_a_second_cookie_and_a_byte_outside_utf8():
    raw = ((b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=\xff"))
    end = events.LlmResponseEnd(status=200, headers={"Set-Cookie": events.escape(b"b=\xff")}, raw_headers=raw)
    back = events.decode(7, events.encode(end))
    assert back.raw_headers == raw
    assert back.headers == {"Set-Cookie": "b=\\xff"}


@pytest.mark.parametrize(
    "event",
    [
        events.ClockRead(value="5"),
        events.ClockRead(value=True),
        events.ClockRead(value=1 << 63),
        events.LlmRequest(body="text"),
        events.LlmRequest(request_key=b"short"),
        events.LlmRequest(headers={"a": b"b"}),
        ("a", "tuple"),
    ],
)
def test_a_value_of_the_wrong_type_cannot_be_recorded(event):
    with pytest.raises(RecordError):
        events.encode(event)


@given(st.sampled_from([kind.number for kind in events.KINDS]), st.binary(max_size=120))
def test_hostile_payloads_raise_nothing_but_ours(kind, payload):
    try:
        event = events.decode(kind, payload)
    except HarkError:
        return
    assert events.decode(kind, events.encode(event)) == event


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.binary(max_size=33)
    | st.text(max_size=9)
)
FIELDS = (
    ATOMS
    | st.lists(ATOMS | st.lists(ATOMS, max_size=2), max_size=3)
    | st.dictionaries(st.text(max_size=3), ATOMS)
)


@given(
    st.sampled_from([kind.number for kind in events.KINDS]),
    st.dictionaries(st.integers(0, 12) | st.sampled_from([32, 63]), FIELDS, max_size=10),
)
def test_well_formed_maps_of_wrong_fields_raise_nothing_but_ours(kind, fields):
    try:
        event = events.decode(kind, cbor.encode(fields))
    except HarkError:
        return
    assert events.decode(kind, events.encode(event)) == event


def test_a_frame_that_cannot_be_read_is_named() -> None:
    from hark.bundle.frame import Frame

    frame = Frame(5, 12, 0, bytes(32), b"\xff", bytes(32))
    with pytest.raises(BundleError, match=r"^event 12 \(LlmRequest\) cannot be read: "):
        events.decode_frame(frame)
