"""Values as the published schema takes them, whatever they are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.export.otlpvalue import CLIENT, attributes, span, span_id, trace_id
from tests.hark.export.otlp import about, spans


def line(*made: object) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": made}]}]})


def test_identifiers_follow_from_the_run_and_the_event() -> None:
    assert trace_id(b"run") == trace_id(b"run") != trace_id(b"other")
    assert (len(trace_id(b"run")), len(span_id(b"run", 3))) == (32, 16)
    assert len({span_id(b"run", 1), span_id(b"run", 2), span_id(b"other", 1), span_id(b"run", None)}) == 4


def test_each_sort_of_value_has_its_own_member() -> None:
    found = {"a": "x", "b": True, "c": 3, "d": 0.5, "e": ("p", "q"), "f": None}
    ids = (trace_id(b""), span_id(b"", 1), span_id(b"", None))
    (made,) = spans([line(span(ids, "name", CLIENT, (5, 9), found, failure="why"))])
    assert about(made) == {"a": "x", "b": True, "c": 3, "d": 0.5, "e": ["p", "q"]}
    assert (made.trace_id.hex(), made.span_id.hex(), made.parent_span_id.hex()) == ids
    assert (made.start_time_unix_nano, made.end_time_unix_nano) == (5, 9)
    assert (made.status.code, made.status.message, made.kind) == (2, "why", 3)


def test_a_span_ends_no_earlier_than_it_begins_and_the_first_has_no_parent() -> None:
    (made,) = spans([line(span(("01" * 16, "01" * 8, ""), "n", CLIENT, (9, 5), {}))])
    assert (made.end_time_unix_nano, made.parent_span_id, made.status.code) == (9, b"", 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1 << 63, -(1 << 63) - 1])
def test_a_number_that_has_no_place_is_left_out(value: float) -> None:
    assert attributes({"a": value, "b": 1}) == [{"key": "b", "value": {"intValue": "1"}}]


@given(st.text(), st.one_of(st.text(), st.booleans(), st.integers(), st.floats(), st.lists(st.text())))
def test_anything_makes_what_the_schema_takes(name: str, value: object) -> None:
    made = span(("01" * 16, "01" * 8, ""), name, CLIENT, (0, 1), {"key": value})  # type: ignore[dict-item]
    assert len(spans([line(made)])) == 1


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    (made,) = spans([line(span(("01" * 16, "01" * 8, ""), "a\ud800", CLIENT, (0, 1), {"k": "\udfffb"}))])
    assert (made.name, about(made)) == ("a?", {"k": "?b"})
