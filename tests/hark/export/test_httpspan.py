"""An exchange in the conventions' words: no header, no body, and no credential in its URL."""

from dataclasses import replace
from typing import Any

import pytest

from hark.conversation.exchanges import Heard
from hark.export import httpspan
from tests.hark.conversation.rig import heard
from tests.hark.export.otlp import unknown

HERE = "https://api.example"


def one(**changes: Any) -> Heard:
    return replace(heard("/path?q=1", {"body": "hidden"}), **changes)


def test_an_exchange_has_its_names_and_nothing_of_what_was_said() -> None:
    found = httpspan.found(one(headers=((b"Host", b"api.example"), (b"x-key", b"hidden"))))
    assert "hidden" not in repr(found)
    assert unknown(found) == []
    assert (found["url.full"], found["server.address"], found["server.port"]) == (
        "https://api.example/path?q=1", "api.example", 443,
    )  # fmt: skip
    assert (found["http.response.status_code"], found["network.protocol.version"]) == (200, "1.1")
    assert httpspan.found(one(headers=()))["network.protocol.version"] == "2"


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("http://me:pass@api.example/x", "http://api.example/x"),
        (
            "/x?AWSAccessKeyId=a&b=1&Signature=c",
            "https://api.example/x?AWSAccessKeyId=REDACTED&b=1&Signature=REDACTED",
        ),
        ("/x?sig=a%3D&design=b", "https://api.example/x?sig=REDACTED&design=b"),
        ("/x?X-Goog-Signature=1", "https://api.example/x?X-Goog-Signature=REDACTED"),
        ("*", "https://api.example/*"),
        ("http://[bad/x", "https://api.example"),
    ],
)
def test_a_url_has_no_credential(path: str, url: str) -> None:
    assert httpspan.url(one(path=path)) == url


def test_a_port_is_that_of_the_connection() -> None:
    assert httpspan.server(one(origin="https://api.example:8443"))["server.port"] == 8443
    assert httpspan.server(one(origin="http://api.example"))["server.port"] == 80
    assert httpspan.server(one(origin="https://api.example:99999"))["server.port"] is None


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({}, None, ""),
        ({"status": 404}, "404", "status 404"),
        ({"refused": "no rule", "status": 403}, "hark.refused", "no rule"),
        ({"error": "reset by peer", "status": 200}, "_OTHER", "reset by peer"),
        ({"ended_seq": None, "status": 0}, "_OTHER", "its end is not on record"),
    ],
)
def test_what_went_wrong_is_told_apart(changes: dict[str, Any], kind: str, words: str) -> None:
    assert (httpspan.failed(one(**changes)), httpspan.failure(one(**changes))) == (kind, words)


def test_a_method_that_nobody_knows_makes_no_name_of_its_own() -> None:
    odd = one(method="BREW")
    found = httpspan.found(odd)
    assert (found["http.request.method"], found["http.request.method_original"]) == ("_OTHER", "BREW")
    assert (httpspan.named(odd), httpspan.named(one(method="GET"))) == ("HTTP", "GET")
