"""Where upstreams are dialled: an explicit redirect wins; this machine and its link are never guessed."""

import pytest

from hark.errors import PolicyError
from mediator.authority import Destination
from mediator.upstream import Redirect, dialable, forbidden, read_redirects

API = Destination("api.example.test", 443)


def nobody(_: str) -> bool:
    return False


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.10",
        "::1",
        "169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_an_address_of_this_machine_its_link_or_a_group_is_not_dialled(address: str) -> None:
    assert forbidden(address, nobody)
    addresses, why = dialable("api.example.test", [address], nobody)
    assert addresses == ()
    assert "-upstream api.example.test=ADDRESS, or upstream in its [[allow]], allows that" in why


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1", "2001:db8::1", "fd00::1", "64:ff9b::c000:201"])
def test_the_control_any_other_address_is_dialled(address: str) -> None:
    assert dialable("api.example.test", [address], nobody) == ((address,), "")


@pytest.mark.parametrize("address", ["10.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"])
def test_an_address_that_the_machine_has_on_a_link_is_not_dialled_either(address: str) -> None:
    addresses, _ = dialable("api.example.test", [address, "10.0.0.2"], {"10.0.0.1"}.__contains__)
    assert addresses == ("10.0.0.2",)
    addresses, why = dialable("api.example.test", [address], {"10.0.0.1"}.__contains__)
    assert addresses == ()
    assert f"{address} (of this machine); -upstream" in why


def test_of_mixed_addresses_the_harmless_ones_are_dialled() -> None:
    assert dialable("api.example.test", ["127.0.0.1", "192.0.2.1"], nobody) == (("192.0.2.1",), "")


def test_no_address_at_all_is_said_so() -> None:
    assert dialable("api.example.test", [], nobody) == ((), "api.example.test resolves to no address")


def test_redirects_are_read_with_and_without_a_port() -> None:
    read = read_redirects({"API.example.test.": "127.0.0.1:8443", "b.test": "::1", "c.test": "[::1]:9"})
    assert read == {
        "api.example.test": Redirect("127.0.0.1", 8443),
        "b.test": Redirect("::1", None),
        "c.test": Redirect("::1", 9),
    }
    assert read["b.test"].of(API) == ("::1", 443)
    assert read["c.test"].of(API) == ("::1", 9)


@pytest.mark.parametrize(
    ("name", "where"),
    [("a b", "127.0.0.1"), ("a.test", "localhost:1"), ("a.test", "127.0.0.1:0"), ("a.test", "")],
)
def test_a_redirect_that_means_nothing_is_refused_in_words(name: str, where: str) -> None:
    with pytest.raises(PolicyError, match="-upstream"):
        read_redirects({name: where})
