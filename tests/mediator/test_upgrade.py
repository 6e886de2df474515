"""What leaves of a request to switch protocols, and what may come back."""

import pytest

from mediator import handshake, upgrade

TCP = ((b"Connection", b"keep-alive, Upgrade"), (b"Upgrade", b"tcp"), (b"X", b"1"))
AGREED = ((b"Connection", b"Upgrade"), (b"Upgrade", b"TCP"))


def test_the_offer_is_sent_on_with_a_connection_header_that_names_nothing_else() -> None:
    assert upgrade.wanted(TCP)
    assert upgrade.asked_wrong(TCP) == ""
    assert upgrade.forwarded(TCP) == ((b"X", b"1"), (b"Connection", b"Upgrade"), (b"Upgrade", b"tcp"))


def test_http2_in_the_clear_is_left_out_of_several_offers_and_alone_is_no_offer() -> None:
    several = ((b"Upgrade", b"h2c, SPDY/3.1"), (b"upgrade", b"H2C,tcp"), (b"Connection", b"upgrade"))
    assert upgrade.offered(several) == (b"spdy/3.1", b"tcp")
    assert dict(upgrade.forwarded(several))[b"Upgrade"] == b"SPDY/3.1, tcp"
    assert not upgrade.wanted(((b"Upgrade", b"h2c"),))


def test_a_websocket_is_another_matter_but_only_by_its_whole_name() -> None:
    assert not upgrade.wanted(((b"Upgrade", b"tcp, WebSocket"),))
    assert handshake.wanted(((b"Upgrade", b"tcp, WebSocket"),))
    assert upgrade.wanted(((b"Upgrade", b"xwebsocket"),))
    assert not handshake.wanted(((b"Upgrade", b"xwebsocket"),))


def test_an_upgrade_that_the_connection_header_does_not_name_is_none() -> None:
    assert upgrade.asked_wrong(((b"Upgrade", b"tcp"), (b"Connection", b"close")))


@pytest.mark.parametrize(
    "answer",
    [
        (),
        ((b"Connection", b"Upgrade"),),
        ((b"Connection", b"Upgrade"), (b"Upgrade", b"h2c")),
        ((b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")),
        ((b"Connection", b"Upgrade"), (b"Upgrade", b"tcp, tcp")),
        ((b"Connection", b"close"), (b"Upgrade", b"tcp")),
    ],
)
def test_an_agreement_to_anything_else_is_refused(answer: tuple[tuple[bytes, bytes], ...]) -> None:
    assert upgrade.answer_wrong(TCP, answer)


def test_the_control_an_agreement_to_what_was_asked_is_taken() -> None:
    assert upgrade.answer_wrong(TCP, AGREED) == ""
