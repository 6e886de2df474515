"""Messages are made without the check of their types, and are the same messages."""

from mitmproxy import http

from mediator import unchecked


def test_a_message_is_not_compared_with_its_annotations() -> None:
    assert http.MessageData.__post_init__ is unchecked._unchecked
    request = http.Request.make("POST", "https://api.example.test/", b"body", {"a": "b"})
    assert (request.method, request.raw_content, request.headers["a"]) == ("POST", b"body", "b")
