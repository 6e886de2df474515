"""Entries as HAR 1.2 has them, and what of ours stands in them."""

import base64
import gzip

import pytest

from hark.bundle import events as ev
from hark.conversation.gathered import gather
from hark.export import har
from hark.export.wall import Wall
from tests.hark.export.story import ALLOWED, END, POST, TLS, chunk, frames

HEAD = ev.ResponseHead(1, 200, {}, END.raw_headers)


def entries(*events):
    wall = Wall()
    told = list(frames(*events))
    for one in told:
        wall.see(one)
    return [har.entry(exchange, wall) for exchange in gather(told)]


def test_times_are_those_of_the_events_and_add_up():
    piece = ev.RequestChunk(exchange=1, data=b"more", last=True)
    asked = POST._replace(body=b"", streaming=True)
    (one,) = entries(TLS, ALLOWED, asked, piece, HEAD, chunk(b"a"), chunk(b"b", 1), END)
    assert one["timings"] == {
        "blocked": -1,
        "dns": -1,
        "connect": -1,
        "ssl": -1,
        "send": 1,
        "wait": 1,
        "receive": 3,
    }
    assert one["time"] == 5
    assert one["startedDateTime"] == "2025-08-17T03:06:40.006000Z"
    assert one["_hark"] == {
        "exchange": 1,
        "event": 6,
        "end_event": 11,
        "chunks": [{"event": 9, "ms": 3, "bytes": 1}, {"event": 10, "ms": 4, "bytes": 1}],
    }


def test_a_request_and_its_answer_are_whole():
    (one,) = entries(TLS, ALLOWED, POST, chunk("grüß".encode()), END)
    request, response = one["request"], one["response"]
    assert request["url"] == "https://api.example/v1/chat?q=a%20b&q="
    assert request["queryString"] == [{"name": "q", "value": "a b"}, {"name": "q", "value": ""}]
    assert request["cookies"] == [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]
    assert request["postData"] == {"mimeType": "application/json", "text": '{"prompt": "hi"}'}
    assert (response["status"], response["content"]["text"], response["bodySize"]) == (200, "grüß", 6)
    assert response["cookies"] == [{"name": "c", "value": "3"}]


def test_a_packed_body_is_unpacked_and_says_how_much_that_saved():
    text = b"x" * 1000
    packed = gzip.compress(text)
    end = END._replace(raw_headers=((b"content-encoding", b"gzip"),))
    (one,) = entries(POST, chunk(packed), end)
    content = one["response"]["content"]
    assert (content["text"], content["size"], content["compression"]) == (
        text.decode(),
        1000,
        1000 - len(packed),
    )


def test_bytes_that_are_no_text_are_base64():
    data = b"\xff\x00binary"
    (one,) = entries(POST._replace(body=data), chunk(data), END)
    assert base64.b64decode(one["response"]["content"]["text"]) == data
    assert one["response"]["content"]["encoding"] == "base64"
    assert base64.b64decode(one["request"]["postData"]["text"]) == data
    assert one["request"]["postData"]["_encoding"] == "base64"


@pytest.mark.parametrize(
    ("end", "status", "error"),
    [
        (
            END._replace(status=403, error="refused: host evil.example is not in allow_hosts"),
            0,
            "refused: host",
        ),
        (END._replace(error="the server closed the connection"), 200, "the server closed"),
        (None, 0, "its end is not on record"),
    ],
)
def test_what_was_refused_or_broke_off_is_no_answer_of_a_servers(end, status, error):
    (one,) = entries(POST, chunk(b"page"), *([end] if end else []))
    assert one["response"]["status"] == status
    assert one["response"]["_error"].startswith(error)
    assert ("text" in one["response"]["content"]) == bool(status)


def test_messages_of_a_websocket_are_chromiums_and_a_long_one_is_one():
    def said(data, kind="text", *, agent=False, more=False):
        return ev.WebSocketMessage(1, 0, agent, kind, data, more)

    told = (said(b"hi", agent=True), said(b"gr\xc3", more=True), said(b"", "ping"), said(b"\xbc\xc3\x9f"))
    (one,) = entries(
        POST, HEAD._replace(status=101), *told, said(b"\x00\x01", "binary"), END._replace(status=101)
    )
    messages = one["_webSocketMessages"]
    assert [(m["type"], m["opcode"], m["data"]) for m in messages] == [
        ("send", 1, "hi"), ("receive", 9, ""), ("receive", 1, "grüß"), ("receive", 2, "AAE=")
    ]  # fmt: skip
    assert one["_resourceType"] == "websocket"


@pytest.mark.parametrize("agent", [True, False])
def test_a_message_without_an_end_is_kept_and_marked(agent):
    def said(data, *, more):
        return ev.WebSocketMessage(1, 0, agent, "text", data, more)

    begun = (said(b"one", more=False), said(b"tw", more=True), said(b"o, thr", more=True))
    (one,) = entries(POST, HEAD._replace(status=101), *begun, END._replace(status=101))
    assert [(m["data"], m.get("_unfinished")) for m in one["_webSocketMessages"]] == [
        ("one", None), ("two, thr", True)
    ]  # fmt: skip
    way = "to" if agent else "from"
    assert one["_hark"]["missing"] == [f"the last message of the WebSocket {way} the server has no end"]
    (whole,) = entries(
        POST, HEAD._replace(status=101), *begun, said(b"ee", more=False), END._replace(status=101)
    )
    assert [m.get("_unfinished") for m in whole["_webSocketMessages"]] == [None, None]
    assert "missing" not in whole["_hark"]


def test_a_body_that_was_not_stored_is_said_and_is_not_an_empty_one():
    kept = ev.BodyHash(exchange=1, length=7, hash=bytes(32))
    (one,) = entries(POST, kept, END)
    assert "text" not in one["response"]["content"]
    assert one["response"]["content"]["size"] == 7
    assert one["_hark"]["missing"] == ["the response's body was not stored, by the policy"]


def test_hostile_paths_and_headers_come_out_as_text():
    request = POST._replace(
        path="/\x1b]0;x\x07?" + "a=1&" * 5000, raw_headers=((b"x\xff", b"\xfe"), (b"cookie", b"=;;;x"))
    )
    (one,) = entries(request, END)
    assert one["request"]["headers"][0] == {"name": "xÿ", "value": "þ"}
    assert one["request"]["queryString"] == []
