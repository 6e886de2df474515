"""Messages that every reader takes alike, and those that some reader would take otherwise."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator.mcp.jsonrpc import (
    MAX_BATCH,
    MAX_DEPTH,
    MAX_ID,
    MAX_NAME,
    Call,
    MessageError,
    Packet,
    Request,
    Response,
    compact,
    read,
    readable,
)

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": {"a": 1}}}


def test_a_call_a_request_a_notification_and_answers_are_told_apart() -> None:
    assert read(json.dumps(CALL).encode()) == Packet((Call(1, "t", {"a": 1}),), batch=False)
    assert read(b'{"id":"x","method":"ping"}').messages == (Request("x", "ping"),)
    assert read(b'{"method":"notifications/initialized"}').messages == (
        Request(None, "notifications/initialized"),
    )
    assert read(b'{"id":1,"result":{"isError":true}}').messages == (
        Response(1, b'{"isError":true}', is_error=True),
    )
    assert read(b'{"id":1.0,"result":{"a":[]}}').messages == (Response(1, b'{"a":[]}', is_error=False),)
    assert read(b'{"id":1,"result":2,"error":null}').messages == (Response(1, b"2", is_error=False),)
    assert read(b'{"id":1,"error":{"code":-1}}').messages == (Response(1, b'{"code":-1}', is_error=True),)


def test_a_batch_holds_its_messages_in_order() -> None:
    packet = read(json.dumps([CALL, {"method": "m"}]).encode())
    assert packet.batch
    assert packet.messages == (Call(1, "t", {"a": 1}), Request(None, "m"))


@pytest.mark.parametrize(
    "method", [r"tools\/call", r"\u0074ools/call", r"\u0074\u006f\u006f\u006c\u0073\u002fcall"]
)
def test_an_escaped_method_is_what_it_says(method: str) -> None:
    raw = f'{{"id":1,"method":"{method}","params":{{"name":"\\u0074"}}}}'
    assert read(raw.encode()).messages == (Call(1, "t", {}),)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('{"id":1,"method":"ping","method":"tools/call","params":{"name":"t"}}', "twice"),
        (r'{"id":1,"method":"ping","\u006dethod":"tools/call"}', "twice"),
        ('{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}', "twice"),
        ('{"id":1,"method":"ping","Method":"tools/call"}', "case"),
        ('{"id":1,"method":"tools/call","params":{"name":"a"},"param\u017f":{"name":"b"}}', "case"),
        ('{"id":1,"method":"tools/call","params":{"name":"a","NAME":"b"}}', "case"),
        ('{"id":1,"method":"Tools/Call","params":{"name":"a"}}', "case"),
        ('{"id":1,"method":" tools/call","params":{"name":"a"}}', "blanks"),
        ('{"id":1,"method":["tools/call"]}', "no text"),
        ('{"id":1,"method":"tools/call"}', "no params"),
        ('{"id":1,"method":"tools/call","params":["t"]}', "no params"),
        ('{"id":1,"method":"tools/call","params":{}}', "no tool"),
        ('{"id":1,"method":"tools/call","params":{"name":"t","arguments":[1]}}', "no object"),
        ('{"id":true,"method":"ping"}', "id"),
        ('{"id":[1],"method":"ping"}', "id"),
        ('{"id":1.5,"method":"ping"}', "fraction"),
        ('{"id":"' + "x" * (MAX_ID + 1) + '","method":"ping"}', "id is longer"),
        ('{"id":1,"result":null,"error":{}}', "neither"),
        ('{"id":1,"method":"ping","result":{}}', "at once"),
        ('{"id":1,"result":{},"error":{}}', "neither"),
        ('{"a":\r{"method":"tools/call"}\r}', "carriage return"),
        ('{"method":"tools/call\\u0000","params":{"name":"erase"}}', "its method holds U.0000"),
        ('{"method\\u0000":"tools/call","method":"ping"}', "a key holds U.0000"),
        ('{"method":"tools/call","params":{"name\\u0000":"erase","name":"search"}}', "a key holds U.0000"),
        ('{"method":"tools/call","params":{"name":"search\\u0000"}}', "name of its tool holds U.0000"),
        ("[]", "empty batch"),
        ('[[{"method":"ping"}]]', "stands in a batch"),
        ("{}", "neither"),
        ("1", "no JSON-RPC"),
        ('"tools/call"', "no JSON-RPC"),
        ("", "not JSON"),
        ('{"method":"a"}{"method":"tools/call"}', "not JSON"),
        ('{"method":"a"}\n{"method":"tools/call"}', "not JSON"),
        ('\ufeff{"method":"a"}', "not JSON"),
        ('{"id":NaN,"method":"a"}', "number"),
        ('{"id":' + "1" * 5000 + ',"method":"a"}', "not JSON"),
        ("[" * 100_000, "deep"),
        ('{"method":"a","params":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", "deep"),
        ("[" + ",".join(['{"method":"a"}'] * (MAX_BATCH + 1)) + "]", "more than"),
    ],
)
def test_what_two_readers_could_take_differently_is_refused(raw: str, why: str) -> None:
    with pytest.raises(MessageError, match=why):
        read(raw.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_nothing_but_utf_8_is_read(encoding: str) -> None:
    with pytest.raises(MessageError):
        read('{"method":"ä"}'.encode(encoding))


def test_an_infinite_number_is_no_id() -> None:
    with pytest.raises(MessageError, match="fraction"):
        read(b'{"id":1e999,"method":"a"}')


def test_a_name_is_valid_text_and_bounded() -> None:
    assert readable("a\ud800") == "a\\ud800"
    assert len(readable("x" * 1_000_000)) < 2 * MAX_NAME


def test_half_a_surrogate_pair_stays_an_escape() -> None:
    assert compact({"a": "\ud800"}) == b'{"a":"\\ud800"}'
    assert compact({"a": "ä"}) == '{"a":"ä"}'.encode()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_packet_or_refused(data: bytes) -> None:
    with contextlib.suppress(MessageError):
        assert read(data).messages
