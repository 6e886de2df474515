"""A patch file says what is to be changed, and nothing that is not understood."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import ForkError
from hark.patch.model import parse_patch
from hark.patch.steps import (
    DropChunk,
    RemoveHeader,
    RemoveValue,
    Replace,
    SetBody,
    SetHeader,
    SetStatus,
    SetValue,
)
from hark.patch.where import Side
from tests.hark.patch.rig import json_values


def parse(value):
    return parse_patch(json.dumps(value).encode(), "p")


@pytest.mark.parametrize(
    ("step", "value"),
    [
        ({"replace": "a", "with": ""}, Replace("a", "")),
        ({"replace": "a", "with": "b", "count": 2}, Replace("a", "b", 2)),
        ({"body": "x\n"}, SetBody("x\n")),
        ({"body": {"b": 1, "a": None}}, SetBody('{"a":null,"b":1}')),
        ({"set": "/a~1b/0", "value": "x"}, SetValue(("a/b", "0"), b'"x"')),
        ({"set": "", "value": 12345678901234567890, "event": 3}, SetValue((), b"12345678901234567890", 3)),
        ({"remove": "/a"}, RemoveValue(("a",))),
        ({"remove": "/a", "event": 0}, RemoveValue(("a",), 0)),
        ({"set_header": "X-A", "value": "1"}, SetHeader(b"X-A", b"1")),
        ({"remove_header": "x"}, RemoveHeader(b"x")),
        ({"status": 503}, SetStatus(503)),
        ({"drop_chunk": 0}, DropChunk(0)),
    ],
)
def test_a_step_is_read_alone_and_among_others(step, value):
    assert parse(step).steps == (value,)
    both = parse({"steps": [step, {"body": ""}], "note": "n", "on": "response"})
    assert both.steps == (value, SetBody(""))
    assert (both.note, both.on) == ("n", Side.RESPONSE)


def test_what_is_kept_of_the_file_is_one_spelling():
    one = parse_patch(b'{"with": "b",  "replace":"a"}')
    assert one.raw == b'{"replace":"a","with":"b"}'
    assert parse_patch(one.raw) == one
    assert one.on is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "p:1:1: a step says what is done by one of replace, set, remove"),
        ('{"steps": []}', '"steps" is empty'),
        ("[]", 'a patch is an object; write {"steps": [...]}'),
        ('{"steps": [{"body": ""}], "body": ""}', 'p:1:27: "body" stands beside "steps"'),
        ('{"steps": [{"body": "", "note": "x"}]}', '"note" is no key of a patch'),
        ('{"replace": "a"}', '"replace" needs "with" beside it'),
        ('{"replace": "a", "with": "a"}', "replaced by itself"),
        ('{"replace": "", "with": "a"}', '"replace" is empty'),
        ('{"replace": "a", "with": "b", "count": 0}', 'p:1:31: "count" must be a whole number from 1'),
        ('{"replace": "a", "with": "b", "value": 0}', '"value" has no meaning beside "replace"'),
        ('{"replace": "a", "with": "b", "status": 200}', 'has "replace" and "status"; make it two'),
        ('{"find": "a", "with": "b"}', 'did you mean "replace"?'),
        ('{"replace": "a", "by": "b"}', 'did you mean "with"?'),
        ('{"op": "replace", "path": "/a", "value": 1}', 'did you mean "set"?'),
        ('{"set": "$.a", "value": 1}', "write /a"),
        ('{"set": "/a"}', '"set" needs "value" beside it'),
        ('{"remove": ""}', 'write "body": ""'),
        ('{"set_header": "Content-Length", "value": "1"}', "hark writes it"),
        ('{"remove_header": "content-encoding"}', "hark writes it"),
        ('{"set_header": "A: b", "value": "1"}', "without its colon"),
        ('{"set_header": "A", "value": "x\\r\\nB: y"}', "one line"),
        ('{"set_header": "", "value": "x"}', "no name of a header"),
        ('{"status": 101}', "whole number from 200 to 599"),
        ('{"status": true}', "whole number"),
        ('{"status": 200, "on": "request"}', '"status" is of a response, and the patch is on the request'),
        ('{"drop_chunk": 0, "on": "request"}', '"drop_chunk" is of a response'),
        ('{"on": "answer", "body": ""}', '"on" is "request" or "response"'),
        ('{"set": "/a", "value": ["\\ud800"]}', "surrogate"),
        ('{"body": {"\\ud800": 1}}', "surrogate"),
        ('{"note": 1, "body": ""}', '"note" must be a text'),
        ('{"note": "' + "x" * 5000 + '", "body": ""}', '"note" is longer'),
        ('{"steps": [' + ",".join(['{"body":""}'] * 1001) + "]}", "1000 steps at most"),
    ],
)
def test_what_is_not_understood_is_an_error_with_its_place(text, words):
    with pytest.raises(ForkError) as error:
        parse_patch(text.encode(), "p")
    assert words in str(error.value)
    assert str(error.value).startswith("p:1:")
    assert error.value.exit_code == 2


STEP = st.dictionaries(
    st.sampled_from(["replace", "with", "count", "set", "value", "remove", "event", "status", "body", "on",
                     "drop_chunk", "steps", "note", "set_header", "remove_header", "find"]),
    json_values | st.sampled_from(["/a", "x", "request", 200]),
    max_size=4,
)  # fmt: skip


@given(STEP | st.lists(STEP, max_size=3).map(lambda steps: {"steps": steps}))
def test_any_json_is_a_patch_or_a_sentence(value):
    try:
        one = parse(value)
    except ForkError as error:
        assert str(error).startswith("p:1:")  # noqa: PT017
    else:
        assert parse_patch(one.raw) == one
