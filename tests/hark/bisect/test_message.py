"""Messages shortened by units: still what they were, in every shape that a body comes in."""

import gzip
import json

import pytest

from hark.bisect.message import MAX_MESSAGE, Message, Unit, of_answer, of_request
from hark.bisect.units import Level
from hark.errors import PatchError
from hark.patch.apply import Sent
from hark.patch.where import Side
from hark.replay.pieces import Data, End, Failed, Head, Part


def message(body: str | bytes, kind: str = "application/json") -> Message:
    data = body if isinstance(body, bytes) else body.encode()
    return Message(((b"content-type", kind.encode()),), data, Side.RESPONSE)


def said(one: Message) -> list[str]:
    return [leaf.text for leaf in one.leaves]


def by_text(one: Message, *words: str) -> list[Unit]:
    """The sentences that have one of these words."""
    sentences = [piece for unit in one.units() for piece in one.cut(unit, Level.SENTENCE)]
    return [unit for unit in sentences if any(word in one.text(unit) for word in words)]


def test_a_text_is_cut_by_sentences_and_loses_one() -> None:
    page = message("<p>Hello. Send the key. Bye.</p>", "text/html")
    assert page.without(by_text(page, "key")) == b"<p>Hello. Bye.</p>"
    assert page.without([]) == page.body


def test_json_stays_json_and_keeps_its_spelling() -> None:
    body = '{"n": 1.0, "say": "Caf\\u00e9. Send \\"it\\". Bye.", "more": ["Send it."]}'
    found = message(body)
    assert found.without(by_text(found, "Send")) == b'{"n": 1.0, "say": "Caf\\u00e9. Bye.", "more": [""]}'


def test_json_within_a_string_stays_json_too() -> None:
    inner = json.dumps({"cmd": 'Say "hi". Send it.'})
    found = message(json.dumps({"arguments": inner}))
    (unit,) = by_text(found, "Send")
    assert found.leaves[unit.leaf].places[0].words == "$.arguments, in its JSON"
    left = json.loads(found.without([unit]))
    assert json.loads(left["arguments"]) == {"cmd": 'Say "hi". '}


def test_what_an_api_calls_things_by_is_no_text() -> None:
    body = {"model": "large", "messages": [{"role": "user", "content": "Hello."}]}
    assert said(message(json.dumps(body))) == ["Hello."]


STREAM = """event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Good. Please se"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "nd it. Bye."}}

data: Plain. Send it.

"""


def test_a_stream_is_read_as_its_client_does_and_keeps_its_events() -> None:
    found = message(STREAM, "text/event-stream")
    assert said(found) == ["Good. Please send it. Bye.", "Plain. Send it."]
    left = found.without(by_text(found, "send", "Send")).decode()
    assert '"text": "Good. "' in left
    assert '"text": "Bye."' in left
    assert "data: Plain. \n" in left
    assert left.count("data: ") == 3


def test_what_a_stream_says_again_is_shortened_with_it() -> None:
    whole = {"type": "response.completed", "response": {"output": [{"content": [{"text": "Hi. Send it."}]}]}}
    pieces = [
        {"type": "response.output_text.delta", "output_index": 0, "delta": text}
        for text in ("Hi. Se", "nd it.")
    ]
    stream = "".join(f"data: {json.dumps(one)}\n\n" for one in (*pieces, whole))
    found = message(stream, "text/event-stream")
    assert said(found) == ["Hi. Send it."]
    assert b"Send" not in found.without(by_text(found, "Send"))
    assert len(found.leaves[0].places) == 2


def test_places_are_pointers_and_bytes() -> None:
    found = message('{"a": [{"b": "Grüße. Send it."}]}')
    (unit,) = by_text(found, "Send")
    leaf = found.leaves[unit.leaf]
    assert (leaf.places[0].pointer, leaf.places[0].event) == ("/a/0/b", None)
    assert leaf.bytes_of(unit.start, unit.end) == (9, 17)


def test_units_that_touch_are_one_run() -> None:
    page = message("One. Two. Three. Four.", "text/plain")
    one, two, _, four = page.cut(page.units()[0], Level.SENTENCE)
    assert [page.text(run) for run in page.runs([four, two, one])] == ["One. Two. ", "Four."]


def test_a_body_in_a_charset_of_its_own_is_cut_by_its_bytes() -> None:
    page = message("Grüße. Send it. Tschüß.".encode("latin-1"), "text/plain; charset=iso-8859-1")
    assert page.without(by_text(page, "Send")) == "Grüße. Tschüß.".encode("latin-1")


def test_bytes_that_are_no_text_have_no_units() -> None:
    assert message(b"\x89PNG\xff\xfe", "image/png").units() == []


def test_a_packed_answer_is_unpacked_and_a_request_is_read_alike() -> None:
    packed = gzip.compress(b"Hello. Send it.")
    headers = ((b"content-type", b"text/plain"), (b"content-encoding", b"gzip"))
    parts = [Part(1, 0, Head(200, headers, ends=False)), Part(2, 0, Data(packed)), Part(3, 0, End())]
    found = of_answer(parts)
    assert found.body == b"Hello. Send it."
    assert found.headers == ((b"content-type", b"text/plain"),)
    asked = of_request(Sent("POST", "a.example", "/", headers, packed))
    assert (asked.body, asked.side) == (found.body, Side.REQUEST)


def test_an_answer_that_is_none_or_too_long_is_refused() -> None:
    with pytest.raises(PatchError, match="no recorded answer"):
        of_answer([Part(1, 0, Failed("reset"))])
    with pytest.raises(PatchError, match="more than 4194304"):
        of_request(Sent("POST", "a.example", "/", (), b"x" * (MAX_MESSAGE + 1)))
