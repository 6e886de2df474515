"""Steps are made one after another, each on what the one before has left."""

import gzip
import json

import pytest

from hark.errors import PatchError
from hark.patch.changing import Changing
from tests.hark.patch.rig import JSON, STREAM, anthropic, heard, patch, sse


def changed(steps, *chunks, headers=(JSON,), status=200):
    changing = Changing(tuple(headers), list(chunks), status=status)
    changing.run(patch(*steps))
    return changing


def test_steps_see_what_the_ones_before_have_left():
    steps = (
        {"set": "/a", "value": {"b": "one"}},
        {"replace": "one", "with": "two"},
        {"replace": "two", "with": "three"},
        {"remove": "/c"},
        {"set": "/a/d", "value": [1.5]},
    )
    changing = changed(steps, b'{"a": 1, ', b'"c": 2}')
    assert json.loads(changing.body) == {"a": {"b": "three", "d": [1.5]}}
    assert [bool(chunk) for chunk in changing.chunks] == [True, True]


def test_without_a_change_of_the_body_it_stays_packed():
    data = gzip.compress(b"{}")
    changing = changed(
        ({"status": 500}, {"set_header": "X", "value": "1"}),
        data,
        headers=(JSON, (b"content-encoding", b"gzip")),
    )
    assert (changing.status, changing.changed, changing.chunks) == (500, False, [data])
    assert (b"content-encoding", b"gzip") in changing.headers


def test_a_body_is_put_in_place_of_one_that_cannot_be_read():
    changing = changed(
        ({"body": {"b": 1, "a": []}},), b"not gzip", b"more", headers=(JSON, (b"content-encoding", b"gzip"))
    )
    assert changing.chunks == [b'{"a":[],"b":1}', b""]
    assert changing.headers == (JSON,)


def test_a_body_can_be_a_text_or_nothing():
    assert changed(({"body": "plain"},)).body == b"plain"
    assert changed(({"body": ""},), b"x").body == b""
    assert changed(({"body": None},), b"x").body == b"null"


def test_count_is_how_often_and_no_less():
    assert (
        changed(({"replace": "a", "with": "b", "count": 2},), b'["a", "a", "a"]').body == b'["b", "b", "a"]'
    )
    with pytest.raises(PatchError, match='step 1 of the patch: "a" occurs 3 times, not 4'):
        changed(({"replace": "a", "with": "b", "count": 4},), b'["a", "a", "a"]')
    with pytest.raises(PatchError, match="occurs once, not 2"):
        changed(({"replace": "a", "with": "b", "count": 2},), b'["a"]')


def test_what_matches_nothing_names_its_step_and_the_nearest_text():
    body = json.dumps({"messages": [{"role": "user", "content": "Please ignore all former instructions."}]})
    with pytest.raises(PatchError) as error:
        changed(({"status": 201}, {"replace": "ignore all previous instructions", "with": ""}), body.encode())
    assert error.value.step == 2
    assert "ignore all former instructions" in error.value.nearest
    assert error.value.nearest.endswith(" in $.messages[0].content")
    assert str(error.value).startswith(
        'step 2 of the patch: "ignore all previous instructions" does not occur'
    )


def test_a_word_of_the_protocol_is_pointed_at():
    with pytest.raises(PatchError, match=r'in \$.messages\[0\].role it says what something is; use "set"'):
        changed(({"replace": "user", "with": "x"},), b'{"messages": [{"role": "user"}]}')


def test_a_pointer_leads_into_one_event_of_a_stream():
    stream = sse(*anthropic("a", "b"))
    step = {"set": "/delta/text", "event": 2, "value": "new\n"}
    made = heard(changed((step,), stream, headers=(STREAM,)).body)
    assert [event.get("delta", {}).get("text") for event in made] == [None, None, "new\n", "b", None, None]
    made = heard(changed(({"remove": "/delta/text", "event": 3},), stream, headers=(STREAM,)).body)
    assert made[3]["delta"] == {"type": "text_delta"}


@pytest.mark.parametrize(
    ("step", "headers", "why"),
    [
        ({"set": "/a", "value": 1}, (STREAM,), "stream of 2 events; say which one"),
        ({"set": "/a", "value": 1, "event": 2}, (STREAM,), "there is no event 2"),
        ({"set": "/a", "value": 1, "event": 1}, (STREAM,), "data of event 1 is no JSON"),
        ({"set": "/a", "value": 1, "event": 0}, (JSON,), "no stream of events"),
        ({"set": "/a", "value": 1}, (), "no JSON object or list"),
        ({"drop_chunk": 1}, (), "has 1 chunk, counted from 0; there is no chunk 1"),
        ({"remove_header": "etag"}, (), "no header etag"),
    ],
)
def test_a_step_that_fits_nothing_says_why(step, headers, why):
    with pytest.raises(PatchError, match=why):
        changed((step,), b"data: {}\n\ndata: [DONE]\n\n", headers=headers)


def test_a_chunk_is_dropped_by_its_recorded_number():
    assert changed(({"drop_chunk": 1}, {"drop_chunk": 2}), b"a", b"b", b"c").chunks == [b"a", b"", b""]
    with pytest.raises(PatchError, match="no chunk 1 any more"):
        changed(({"drop_chunk": 1}, {"drop_chunk": 1}), b"a", b"b")


def test_a_dropped_chunk_of_a_packed_body_is_its_text():
    from tests.hark.patch.rig import packed

    chunks = packed("gzip", b"one ", b"two ", b"three")
    changing = changed(({"drop_chunk": 1},), *chunks, headers=((b"content-encoding", b"gzip"),))
    assert changing.body == b"one three"
    assert changing.headers == ()


def test_a_request_has_neither_status_nor_chunks():
    for step, why in (({"status": 200}, "no status"), ({"drop_chunk": 0}, "not recorded in chunks")):
        with pytest.raises(PatchError, match=why):
            changed((step,), b"x", status=None)


def test_a_text_in_another_charset_is_found_and_kept():
    headers = ((b"content-type", b"text/html; charset=iso-8859-1"),)
    changing = changed(({"replace": "ü", "with": "ä"},), "für".encode("latin-1"), headers=headers)
    assert changing.body == "fär".encode("latin-1")
    assert changed(({"body": "ü"},), b"x", headers=headers).body == b"\xfc"
    with pytest.raises(PatchError, match="charset does not have"):
        changed(({"replace": "ü", "with": "→"},), b"f\xfcr", headers=headers)


@pytest.mark.parametrize("most", [(100_000, 1 << 12), (100, 64 << 20)])
def test_steps_that_double_a_text_come_to_an_end(monkeypatch, most):
    monkeypatch.setattr("hark.patch.changing.MAX_PLACES", most[0])
    monkeypatch.setattr("hark.patch.bodies.MAX_TEXT", most[1])
    steps = ({"replace": "ab", "with": "abab"},) * 40
    with pytest.raises(
        PatchError, match=r"makes a body of 8,192 bytes|occurs more than 100 times"
    ) as refused:
        changed(steps, b"ab" * 2, headers=((b"content-type", b"text/plain"),))
    assert refused.value.step in (7, 11)
    changed(steps[:6], b"ab" * 2, headers=((b"content-type", b"text/plain"),))
