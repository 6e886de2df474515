"""A line for each event, with everything in it."""

import base64
import json

import pytest

from hark import describe
from hark.bundle import events as ev
from hark.export import jsonl
from hark.export.wall import Wall
from tests.hark.cli.sample import HOSTILE
from tests.hark.export.story import chunk, frame
from tests.hark.test_describe import hostile


def told(event, **changes):
    return json.loads(jsonl.line(frame(7, event, 5)._replace(**changes), Wall()))


def test_a_line_has_what_inspect_prints_and_the_time_on_the_wall():
    event, one = chunk(b"text"), frame(7, chunk(b"text"), 5)
    inspected = json.loads(describe.to_json(7, 5, 6, event, {"leaf_hash": one.leaf.hex()}))
    assert told(event) == inspected | {"unix_ns": 5}


def test_bytes_that_are_no_text_are_there_whole():
    data = bytes(range(256)) * 5000
    assert base64.b64decode(told(chunk(data))["fields"]["data"]["base64"]) == data
    assert told(ev.BodyHash(hash=b"a" * 32))["fields"]["hash"] == {"hex": b"a".hex() * 32}


def test_an_event_without_its_payload_and_one_of_an_unknown_kind_have_a_line():
    assert told(chunk(b"x"), payload=b"")["fields"] is None
    assert told(ev.Unknown(250, b"\xff"))["fields"] == {"payload": {"base64": "/w=="}}


@pytest.mark.parametrize(
    "kind", [kind for kind in ev.KINDS if kind.name != "Seal"], ids=lambda kind: kind.name
)
def test_nothing_recorded_acts_on_a_terminal(kind):
    values = [b"h" * 32 if isinstance(value, bytes) else value for value in hostile(kind)]
    event = kind.event(*[{} if isinstance(value, dict) else value for value in values])
    if isinstance(event, ev.Rewritten):
        event = event._replace(headers=((HOSTILE.encode(), b"\xff"),))
    line = jsonl.line(frame(1, event), Wall())
    assert line.isascii()
    assert line.isprintable()
