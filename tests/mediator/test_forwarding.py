"""What a server is told in an allowed request's headers: its own host, and how an answer may be packed."""

from dataclasses import replace

import pytest

from mediator.authority import Destination
from mediator.credentials import Broker
from mediator.forwarding import forwarded
from mediator.transcript import Headers
from tests.mediator.rig import OTHER, link_to

HOST = (b"Host", b"api.example.test")


def sent(*headers: tuple[bytes, bytes]) -> Headers:
    return forwarded(b"/", (HOST, *headers), link_to())[1:]


@pytest.mark.parametrize(
    ("host", "said", "wanted"),
    [
        ("2001:db8::1", b"[2001:DB8:0::1]", b"[2001:db8::1]"),
        ("2001:db8::1", b"[2001:DB8:0::1]:443", b"[2001:db8::1]:443"),
        ("api.example.test", b"API.example.test.", b"api.example.test"),
    ],
)
def test_a_host_stands_in_its_one_spelling(host: str, said: bytes, wanted: bytes) -> None:
    assert forwarded(b"/", ((b"Host", said),), link_to(Destination(host, 443))) == ((b"Host", wanted),)


def test_a_connection_header_without_an_upgrade_is_kept() -> None:
    assert sent((b"Connection", b"close")) == ((b"Connection", b"close"),)


def test_what_hark_answers_itself_is_not_passed_on() -> None:
    offer = ((b"Upgrade", b"h2c"), (b"HTTP2-Settings", b"x"), (b"Connection", b"Upgrade, HTTP2-Settings"))
    assert sent((b"Expect", b"100-continue"), *offer) == ()


def test_only_codings_that_can_be_searched_are_accepted_while_credentials_are_held() -> None:
    wanted = ((b"Accept-Encoding", b"gzip, xz"), (b"TE", b"gzip, trailers"))
    elsewhere = replace(link_to(), target=Destination(OTHER, 443))
    assert forwarded(b"/", wanted, elsewhere) == ((b"Accept-Encoding", b"gzip"), (b"TE", b"trailers"))
    without = replace(link_to(), broker=Broker([]))
    assert forwarded(b"/", wanted, without) == wanted


def test_a_server_that_knows_a_credential_is_asked_to_pack_nothing() -> None:
    assert sent((b"Accept-Encoding", b"gzip, br;q=0.5, *")) == ((b"Accept-Encoding", b"identity"),)
    mints = replace(link_to(), target=Destination("oauth2.googleapis.com", 443), broker=Broker([]))
    wanted = (b"Accept-Encoding", b"gzip")
    assert forwarded(b"/token", (wanted,), mints) == ((b"Accept-Encoding", b"identity"),)
    assert forwarded(b"/other", (wanted,), mints) == (wanted,)


def test_messages_packed_one_by_one_are_not_asked_for_where_answers_are_searched() -> None:
    assert sent((b"grpc-accept-encoding", b"gzip"), (b"Connect-Accept-Encoding", b"gzip")) == ()


def test_a_part_of_a_whole_is_asked_for_only_where_no_credential_may_come_back_and_plain() -> None:
    wanted = ((b"Range", b"bytes=5-"), (b"If-Range", b'"1"'), (b"Accept-Encoding", b"gzip"))
    assert sent(*wanted) == ((b"Accept-Encoding", b"identity"),)
    elsewhere = replace(link_to(), target=Destination(OTHER, 443))
    assert forwarded(b"/", wanted, elsewhere) == (*wanted[:2], (b"Accept-Encoding", b"identity"))


def test_events_are_asked_for_in_codings_that_can_be_undone() -> None:
    without = replace(link_to(), broker=Broker([]))
    for kind, coding in ((b"text/event-stream", b"gzip"), (b"text/html", b"gzip, xz")):
        got = forwarded(b"/", ((b"Accept", kind), (b"Accept-Encoding", b"gzip, xz")), without)
        assert got == ((b"Accept", kind), (b"Accept-Encoding", coding))
