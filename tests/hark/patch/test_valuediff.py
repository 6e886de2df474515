"""Steps that lead from one JSON value to another."""

import json

import pytest
from hypothesis import given

from hark.errors import PatchError
from hark.patch.changing import Changing
from hark.patch.valuediff import steps
from tests.hark.patch.rig import JSON, json_values, patch


def made(old, one):
    changing = Changing((JSON,), [json.dumps(old).encode()], status=200)
    changing.run(patch(*one))
    return json.loads(changing.body)


def last(old, new):
    return list(steps(old, new))[-1]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [{"set": "/b", "value": 3}]),
        ({"a": 1, "b": 2}, {"a": 1}, [{"remove": "/b"}]),
        ({"a": {"x/y": [1, 2, 3]}}, {"a": {"x/y": [1, 3]}}, [{"remove": "/a/x~1y/1"}]),
        ([1, 2, 3, 4], [1], [{"remove": "/3"}, {"remove": "/2"}, {"remove": "/1"}]),
        ([1], [1, 2, 3], [{"set": "/-", "value": 2}, {"set": "/-", "value": 3}]),
        ([1, 3], [1, 2, 3], [{"set": "", "value": [1, 2, 3]}]),
        ({"a": 1}, {"a": True}, [{"set": "/a", "value": True}]),
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, [1], [{"set": "", "value": [1]}]),
    ],
)
def test_the_steps_are_few(old, new, found):
    one = last(old, new)
    if found:
        assert one == found
        assert made(old, one) == new
    else:
        assert one == []


def test_in_a_long_text_a_part_is_replaced():
    old = "x " * 200 + "hello" + " y" * 200
    first, *_ = steps({"a": old}, {"a": old.replace("hello", "bye")})
    assert first == [{"replace": "hello", "with": "bye"}]


@given(json_values, json_values)
def test_set_whole_they_always_lead_there(old, new):
    old, new = {"a": old}, {"a": new}
    one = last(old, new)
    try:
        assert json.dumps(made(old, one) if one else old, sort_keys=True) == json.dumps(new, sort_keys=True)
    except PatchError as error:
        pytest.fail(f"{one}: {error}")
