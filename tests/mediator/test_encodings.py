"""A value is recognised in every form that an ordinary program would give it."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator.encodings import forms_of

VALUE = 'sk-a/b+c"d\\e f~0123456789'
FORMS = {
    "plain": lambda text: text.encode(),
    "hex": lambda text: text.encode().hex().encode(),
    "HEX": lambda text: text.encode().hex().upper().encode(),
    "percent": lambda text: quote(text, safe="").encode(),
    "path": lambda text: quote(text).encode(),
    "json": lambda text: json.dumps({"k": text}).encode(),
    "php-json": lambda text: json.dumps({"k": text}).replace("/", "\\/").encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_common_form_gives_the_value_away(form: str) -> None:
    stream = FORMS[form](VALUE)
    assert any(needle in stream for needle in forms_of(VALUE))


@given(st.binary(max_size=7), st.binary(max_size=7))
def test_base64_is_recognised_at_every_alignment_and_in_both_alphabets(before: bytes, after: bytes) -> None:
    forms = forms_of(VALUE)
    whole = before + VALUE.encode() + after
    assert any(needle in base64.b64encode(whole) for needle in forms)
    assert any(needle in base64.urlsafe_b64encode(whole) for needle in forms)


def test_another_value_of_the_same_shape_is_not_taken_for_it() -> None:
    other = VALUE[:-2] + "z9"
    streams = [form(other) for form in FORMS.values()] + [base64.b64encode(other.encode() + b"tail")]
    plain = {needle for needle in forms_of(VALUE) if needle in b" ".join(streams)}
    assert plain == set()


def test_no_form_is_short_enough_to_be_met_by_chance() -> None:
    assert min(map(len, forms_of("k3y-1234"))) >= 8
