"""What the agent gets of a patched answer is well framed and says what the patch says; a request likewise."""

import gzip
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import PatchError
from hark.patch.apply import Sent, asked, patched_answer, patched_parts, patched_request
from hark.replay.pieces import Data, Early, End, Failed, Head, Message, Part, Refused, Tail, Withheld
from tests.hark.patch.rig import (
    CODINGS,
    JSON,
    STREAM,
    STREAMS,
    answer,
    body,
    cut,
    head,
    header,
    heard,
    packed,
    patch,
    said,
    sse,
)

HI = patch({"replace": "hi", "with": "a longer text"})
PATCHES = [
    HI,
    patch({"body": "x"}),
    patch({"body": ""}),
    patch({"set": "/a", "value": "hi hi"}),
    patch({"replace": "h", "with": ""}),
    patch({"drop_chunk": 0}),
]


@pytest.mark.parametrize("coding", ["", *CODINGS])
@pytest.mark.parametrize("one", PATCHES, ids=lambda one: one.raw.decode())
@given(st.lists(st.integers(0, 99), max_size=4))
def test_the_length_is_that_of_the_body(coding, one, places):
    chunks = cut(b'{"a": "hi", "b": "hh hi"}', places)
    headers = [JSON]
    if coding:
        chunks = packed(coding, *chunks)
        headers.append((b"Content-Encoding", coding.encode()))
    length = (b"Content-Length", str(sum(map(len, chunks))).encode())
    made = patched_parts(one, answer(*chunks, headers=(*headers, length)))
    assert header(made, b"content-length") == [str(len(body(made))).encode()]
    assert header(made, b"content-encoding") == []
    assert all(part.piece.data for part in made if isinstance(part.piece, Data))
    assert isinstance(made[-1].piece, End)


def test_what_is_not_changed_keeps_its_chunk_event_and_time():
    parts = answer(b'{"a": "h', b'i", "b"', b": 1}")
    made = patched_parts(HI, parts)
    assert [part.piece for part in made[1:]] == [
        Data(b'{"a": "a longer text'), Data(b'", "b"'), Data(b": 1}"), End()
    ]  # fmt: skip
    assert [part[:2] for part in made] == [part[:2] for part in parts]


def test_a_chunk_without_text_is_none():
    made = patched_parts(patch({"replace": "hi", "with": ""}), answer(b"a", b"hi", b"b", headers=()))
    assert [part.seq for part in made] == [10, 11, 13, 14]
    made = patched_parts(patch({"drop_chunk": 1}), answer(b"a", b"hi", b"b", headers=()))
    assert [part.seq for part in made] == [10, 11, 13, 14]


def test_headers_and_status_alone_touch_no_body():
    data = gzip.compress(b"{}")
    parts = answer(data, headers=(JSON, (b"content-encoding", b"gzip"), (b"etag", b"x")))
    made = patched_answer(patch({"status": 503}, {"set_header": "Retry-After", "value": "1"}), parts)
    assert body(made.parts) == data
    assert head(made.parts) == Head(503, (*head(parts).headers, (b"Retry-After", b"1")), ends=False)
    assert made.notes == ()


def test_an_answer_without_a_body_gets_one():
    parts = answer(headers=((b"content-length", b"0"),), status=204)
    assert head(parts).ends
    with pytest.raises(PatchError, match="a 204 has no body"):
        patched_parts(patch({"body": "x"}), parts)
    made = patched_parts(patch({"body": "x"}, {"status": 200}), parts)
    assert [part.piece for part in made] == [
        Head(200, ((b"content-length", b"1"),), ends=False), Data(b"x"), End()
    ]  # fmt: skip
    assert [part.seq for part in made] == [10, 10, 11]
    made = patched_parts(patch({"status": 200}), parts)
    assert head(made).ends


def test_a_status_without_a_body_needs_none():
    with pytest.raises(PatchError, match=r'add \{"body": ""\}'):
        patched_parts(patch({"status": 304}), answer(b"x"))
    assert body(patched_parts(patch({"status": 304}, {"body": ""}), answer(b"x"))) == b""


def test_what_was_said_of_the_old_body_is_taken_out_with_a_note():
    headers = (JSON, (b"ETag", b'"1"'), (b"Digest", b"sha-256=x"))
    parts = answer(b'"hi"', headers=headers)
    parts.insert(-1, Part(99, 0, Tail(((b"content-digest", b"x"), (b"x-time", b"1")))))
    made = patched_answer(HI, parts)
    assert head(made.parts).headers == (JSON,)
    assert made.parts[-2].piece == Tail(((b"x-time", b"1"),))
    assert len(made.notes) == 2
    parts[-2] = Part(99, 0, Tail(((b"content-digest", b"x"),)))
    assert not any(isinstance(part.piece, Tail) for part in patched_parts(HI, parts))


def test_an_answer_before_the_answer_stays():
    early = Part(5, 0, Early(103, ((b"link", b"hi"),)))
    assert patched_parts(HI, [early, *answer(b"hi", headers=())])[0] == early


@pytest.mark.parametrize("end", [Failed("reset"), Withheld("the agent went away")])
def test_an_answer_that_broke_off_breaks_off_as_it_did(end):
    parts = answer(b"say hi", headers=((b"content-length", b"100"),), end=end)
    made = patched_parts(HI, parts)
    assert made[-1].piece == end
    assert header(made, b"content-length") == [str(len(b"say a longer text") + 94).encode()]


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [Part(1, 0, Failed("connection refused"))],
        [Part(1, 0, Refused("not allowed"))],
        [Part(1, 0, Withheld("the run ended"))],
        [Part(1, 0, Head(0, (), ends=False)), Part(2, 0, Failed("x"))],
        [Part(1, 0, Message("text", b"hi", more=False))],
    ],
)
def test_what_is_no_answer_cannot_be_patched(parts):
    with pytest.raises(PatchError):
        patched_parts(patch({"body": "x"}), parts)


@pytest.mark.parametrize("shape", STREAMS)
@pytest.mark.parametrize("coding", ["", "gzip", "br"])
@given(
    st.lists(st.text("hi ", max_size=4), min_size=1, max_size=5), st.lists(st.integers(0, 2000), max_size=5)
)
def test_a_patched_stream_is_a_stream_however_it_was_cut(shape, coding, pieces, places):
    stream = sse(*STREAMS[shape]("hi", *pieces))
    chunks, headers = cut(stream, places), [STREAM]
    if coding:
        chunks = packed(coding, *chunks)
        headers.append((b"content-encoding", coding.encode()))
    made = heard(body(patched_parts(HI, answer(*chunks, headers=headers))))
    want = "".join(("hi", *pieces)).replace("hi", "a longer text")
    assert said(made) == want
    assert len(made) == len(heard(stream))


def test_an_event_that_is_not_changed_stays_in_its_chunk():
    events = list(STREAMS["anthropic"]("one", "h", "i", "two"))
    chunks = [sse(event) for event in events]
    made = patched_parts(HI, answer(*chunks, headers=(STREAM,)))
    assert len(made) == len(chunks) + 2
    same = [number for number, chunk in enumerate(chunks) if made[number + 1].piece.data == chunk]
    assert same == [0, 1, 2, 5, 6, 7]
    texts = [heard(made[at].piece.data)[0]["delta"]["text"] for at in (4, 5)]
    assert texts == ["a longer text", ""]


REQUEST = Sent("POST", "api.example", "/v1/messages", (JSON, (b"Content-Length", b"16")), b'{"model":"hi"}  ')


def test_a_patched_request_is_true_of_its_body():
    made = patched_request(patch({"set": "/model", "value": "other"}), REQUEST)
    assert made.headers == (JSON, (b"Content-Length", b"19"))
    assert (made.method, made.path, made.body) == ("POST", REQUEST.path, b'{"model":"other"}  ')
    assert asked(patch({"set_header": "X", "value": "1"}), REQUEST).sent.body == REQUEST.body
    bare = Sent("POST", "api.example", "/", (JSON,), b"")
    assert patched_request(patch({"body": [1]}), bare).headers == (JSON, (b"Content-Length", b"3"))


def test_a_request_in_chunks_has_no_length():
    headers = (JSON, (b"Transfer-Encoding", b"chunked"))
    made = patched_request(patch({"body": "x"}), Sent("POST", "a.example", "/", headers, b"old"))
    assert made.headers == headers


def test_a_signed_payload_is_hashed_again_and_other_hashes_are_told_of():
    headers = ((b"X-Amz-Content-Sha256", b"0" * 64), (b"content-md5", b"x"))
    made = asked(patch({"body": "x"}), Sent("PUT", "s3.example", "/", headers, b"old"))
    assert dict(made.sent.headers)[b"X-Amz-Content-Sha256"].startswith(b"2d711642")
    assert len(made.notes) == 1


@given(st.binary(max_size=200), st.sampled_from([JSON, STREAM, (b"content-type", b"text/plain")]))
def test_hostile_answers_are_patched_or_refused(data, kind):
    for one in PATCHES:
        try:
            made = patched_parts(one, answer(data, headers=(kind, (b"content-length", b"7"))))
        except PatchError:
            continue
        assert header(made, b"content-length") == [str(len(body(made))).encode()]


def test_a_deep_answer_is_text():
    data = b"[" * 100_000 + b'"hi"' + b"]" * 100_000
    assert b"a longer text" in body(patched_parts(HI, answer(data)))
    with pytest.raises(PatchError, match="no JSON"):
        patched_parts(patch({"set": "/0", "value": 1}), answer(data))


def test_a_large_answer_is_patched_in_seconds():
    data = json.dumps([{"id": number, "text": f"say hi {number}"} for number in range(50_000)]).encode()
    made = body(patched_parts(HI, answer(*cut(data, range(0, len(data), 60_000)))))
    assert made.count(b"a longer text") == 50_000
    assert json.loads(made)


def test_a_stream_of_many_pieces_is_patched_in_seconds():
    stream = sse(*STREAMS["anthropic"](*["word "] * 15_000))
    begun = time.process_time()
    made = heard(
        body(patched_parts(patch({"replace": "word word", "with": "w"}), answer(stream, headers=(STREAM,))))
    )
    assert said(made) == "w " * 7500
    assert (
        time.process_time() - begun < 20
    )  # 2 s where each edit finds its pieces, 40 s where it looks at all
