"""What looks like a token is named, wherever the pieces are cut; what is our own or short is not."""

import pytest

from mediator.sightings import Sighting, cookies_in


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_members_are_named_and_pass(size: int) -> None:
    seen: list[str] = []
    sighting = Sighting(seen.append)
    body = b'{"x": 1, "accessToken": "0123456789abcdef", "api_key" : "0123456789abcdef", "token": "short"}'
    out = b"".join(sighting.feed(body[at : at + size]) for at in range(0, len(body), size))
    assert out + sighting.finish() == body
    assert set(seen) == {"accessToken", "api_key"}


def test_a_placeholder_is_not_named() -> None:
    seen: list[str] = []
    Sighting(seen.append).feed(b'{"token": "sk-harkAbCdEfGhIjKlMnOpQrStUvWx"}')
    assert seen == []


def test_cookies_long_enough_to_be_a_session_are_named() -> None:
    headers = (
        (b"Set-Cookie", b"sid=0123456789abcdef; Path=/"),
        (b"set-cookie", b"theme=dark"),
        (b"cookie", b"no=0123456789abcdef0"),
    )
    assert list(cookies_in(headers)) == ["sid"]
