"""Credentials in JSON, however they are escaped."""

import base64
import json

import pytest

from mediator.credentials import Broker
from mediator.mcp.leak import leaked
from tests.mediator.rig import secret

VALUE = 'sk-"real"/5e884898da28047151d0'
BROKER = Broker([secret(VALUE, "api.example.test")])
ESCAPED = "".join(f"\\u{ord(char):04X}" for char in VALUE)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"a": VALUE}),
        json.dumps({"a": VALUE}).replace("/", "\\/"),
        f'{{"a":"{ESCAPED}"}}',
        json.dumps({"a": f'{{"b":"{ESCAPED}"}}'}),
        json.dumps({"a": json.dumps({"b": json.dumps([VALUE])})}),
        json.dumps({"a": base64.b64encode(VALUE.encode()).decode()}),
    ],
)
def test_a_value_is_found(text: str):
    assert leaked(BROKER, text.encode()) == "API_KEY"


def test_other_text_is_not():
    assert leaked(BROKER, json.dumps({"a": "\\u0073k\n", "b": [ESCAPED[:-6]]}).encode()) is None
