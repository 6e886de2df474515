"""One spelling a host: what is equal must come out equal, what is ambiguous must not come out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.policy.host import HostError, canonical_host, format_authority, is_address, split_authority


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("API.Example", "api.example"),
        ("api.example.", "api.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example.", "xn--bcher-kva.example"),
        ("api。example", "api.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("[::FFFF:7f00:1]", "127.0.0.1"),
        ("[2001:DB8:0::1]", "2001:db8::1"),
        (b"api.example", "api.example"),
    ],
)
def test_every_spelling_of_a_host_becomes_the_same_one(text, canonical):
    assert canonical_host(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "evil.example\0.api.example",
        "api.example\n",
        "api example",
        " api.example",
        "api.example\x7f",
        "256.1.1.1",
        "1.2.3.4.5",
        "1.2.3.0x100000000",
        "08.1.1.1",
        "4294967296",
        "foo.1",
        "a" * 64 + ".example",
        "a." * 127 + "aa",
        "api.example/",
        "api@example",
        "api%2eexample",
        "[::1%eth0]",
        "[::1",
        "::1::",
        "1" * 5000,
        b"\xff.example",
        "xn--\u00e9.example",
    ],
)
def test_what_has_no_single_meaning_is_refused(text):
    with pytest.raises(HostError):
        canonical_host(text)


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_only_host_errors_come_out_and_canonical_is_a_fixed_point(text):
    try:
        host = canonical_host(text)
    except HostError:
        return
    assert canonical_host(host) == host
    assert host.isascii()


def test_a_lookalike_suffix_is_another_host():
    assert canonical_host("api.example.evil.example") != canonical_host("api.example")


def test_addresses_are_told_from_names():
    assert is_address("127.0.0.1")
    assert is_address("::1")
    assert not is_address("api.example")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api.example", ("api.example", 443)),
        ("API.example.:8443", ("api.example", 8443)),
        ("[::1]:80", ("::1", 80)),
        ("[::1]", ("::1", 443)),
        ("0x7f.1:80", ("127.0.0.1", 80)),
    ],
)
def test_an_authority_splits_into_host_and_port(text, expected):
    assert split_authority(text, 443) == expected
    assert split_authority(format_authority(*expected), 1) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a:",
        "a:0",
        "a:65536",
        "a:+1",
        "a:1 ",
        "a:٣",
        "u@a",
        "u:p@a",
        "[::1]:",
        "[::1]x",
        "a:b:c",
        "a:123456",
        "x" * 2000,
    ],
)
def test_a_bad_authority_is_refused(text):
    with pytest.raises(HostError):
        split_authority(text, 443)
