"""Messages are made without the check of their types, and are the same messages."""

from mitmproxy import http
from mitmproxy.connection import Server

from mediator import unchecked


def test_a_message_is_not_compared_with_its_annotations() -> None:
    assert http.MessageData.__post_init__ is unchecked._unchecked
    request = http.Request.make("POST", "https://api.example.test/", b"body", {"a": "b"})
    assert (request.method, request.raw_content, request.headers["a"]) == ("POST", b"body", "b")


def test_a_connection_equals_itself_and_no_other() -> None:
    one, other = (Server(address=("api.example.test", 443)) for _ in range(2))
    held = {one: "one", other: "other"}
    assert (held[one], held[other]) == ("one", "other")
    assert one == one
    assert one != other
