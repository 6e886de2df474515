"""Which of the caller's proxies a target goes through: curl's meanings, and no credential shown."""

import base64

import pytest

from hark.errors import PolicyError
from mediator.authority import Destination
from mediator.proxy import Proxy, read_proxies

WEB = Destination("api.example.com", 443)


def test_tls_and_raw_tcp_take_one_and_plain_http_the_other() -> None:
    proxies = read_proxies({"HTTPS_PROXY": "http://one.example:3128", "HTTP_PROXY": "two.example"})
    assert proxies.of(WEB, plain=False) == Proxy("one.example", 3128, tls=False)
    assert proxies.of(WEB, plain=True) == Proxy("two.example", 80, tls=False)
    assert proxies.all == (Proxy("one.example", 3128, tls=False), Proxy("two.example", 80, tls=False))


def test_lower_case_wins_and_all_proxy_fills_in() -> None:
    env = {
        "https_proxy": "https://low.example",
        "HTTPS_PROXY": "http://up.example",
        "ALL_PROXY": "all.example:1",
    }
    proxies = read_proxies(env)
    assert proxies.of(WEB, plain=False) == Proxy("low.example", 443, tls=True)
    assert proxies.of(WEB, plain=True) == Proxy("all.example", 1, tls=False)


def test_only_the_other_kind_set_means_dialled_directly() -> None:
    assert read_proxies({"HTTP_PROXY": "http://p.example"}).of(WEB, plain=False) is None


def test_the_user_part_is_decoded_and_never_shown() -> None:
    proxies = read_proxies({"HTTPS_PROXY": "http://me%40corp:p%3Ass%2Fword@p.example:8080"})
    assert proxies.https is not None
    assert proxies.https.authorization == b"Basic " + base64.b64encode(b"me@corp:p:ss/word")
    assert proxies.https.password == "p:ss/word"
    for shown in (str(proxies.https), repr(proxies)):
        assert "ss" not in shown.replace("class", "")
        assert base64.b64encode(b"me@corp:p:ss/word").decode() not in shown


@pytest.mark.parametrize(
    ("exceptions", "host", "port", "direct"),
    [
        ("*", "api.example.com", 443, True),
        ("example.com", "api.example.com", 443, True),
        ("example.com", "example.com", 443, True),
        (".example.com", "api.example.com", 443, True),
        (".example.com", "example.com", 443, True),
        ("*.example.com", "api.example.com", 443, True),
        ("EXAMPLE.com.", "api.example.com", 443, True),
        ("example.com", "notexample.com", 443, False),
        ("example.com", "example.com.evil.net", 443, False),
        ("example.com:8443", "api.example.com", 443, False),
        ("example.com:8443", "api.example.com", 8443, True),
        ("other.net, example.com", "api.example.com", 443, True),
        ("other.net example.com", "api.example.com", 443, True),
        ("10.0.0.0/8", "10.1.2.3", 443, True),
        ("10.0.0.0/8", "11.1.2.3", 443, False),
        ("10.1.2.3", "10.1.2.3", 443, True),
        ("2.3", "10.1.2.3", 443, False),
        ("2001:db8::/32", "2001:db8::7", 443, True),
        ("2001:db8::7", "2001:db8::7", 443, True),
        ("[2001:db8::7]:443", "2001:db8::7", 443, True),
        ("10.0.0.0/8", "api.example.com", 443, False),
        ("not a host/name, %%", "api.example.com", 443, False),
        ("", "api.example.com", 443, False),
    ],
)
def test_no_proxy_has_its_usual_meanings(exceptions: str, host: str, port: int, direct: bool) -> None:
    proxies = read_proxies({"HTTPS_PROXY": "http://p.example:1", "NO_PROXY": exceptions})
    assert (proxies.of(Destination(host, port), plain=False) is None) is direct


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "neither HTTPS_PROXY, HTTP_PROXY nor ALL_PROXY is set"),
        ({"HTTPS_PROXY": "  "}, "neither HTTPS_PROXY, HTTP_PROXY nor ALL_PROXY is set"),
        ({"NO_PROXY": "*"}, "neither HTTPS_PROXY"),
        ({"ALL_PROXY": "socks5://u:s3cret@p.example:1080"}, "ALL_PROXY names a proxy that speaks socks5"),
        ({"HTTPS_PROXY": "http://u:s3cret@/"}, "HTTPS_PROXY is not the address of a proxy"),
        ({"HTTP_PROXY": "http://u:s3cret@p.example:99999"}, "HTTP_PROXY is not the address of a proxy"),
        ({"HTTP_PROXY": "http://u:s3cret@[::1"}, "HTTP_PROXY is not the address of a proxy"),
        ({"HTTP_PROXY": "http://p exa\0mple:1"}, "HTTP_PROXY is not the address of a proxy"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words_without_the_password(
    env: dict[str, str], words: str
) -> None:
    with pytest.raises(PolicyError, match=words) as raised:
        read_proxies(env)
    assert "s3cret" not in str(raised.value)
