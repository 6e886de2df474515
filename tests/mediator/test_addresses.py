"""Synthetic addresses stand for one name each, the same in each run of a policy, and run out in words."""

import ipaddress

import pytest

from mediator.addresses import RANGE, AddressesExhaustedError, AddressPool


def test_an_address_stands_for_one_name_alone() -> None:
    pool = AddressPool()
    first, second = pool.address_of("a.test"), pool.address_of("b.test")
    assert first != second
    assert pool.address_of("a.test") == first
    assert (pool.name_of(first), pool.name_of(second)) == ("a.test", "b.test")
    assert ipaddress.ip_address(first) in RANGE


def test_the_same_policy_gives_the_same_addresses_whatever_is_asked_first() -> None:
    one, two = AddressPool(["b.test", "a.test"]), AddressPool(["a.test", "b.test"])
    assert two.address_of("b.test") == one.address_of("b.test")


def test_an_address_that_was_never_given_out_stands_for_nothing() -> None:
    assert AddressPool(["a.test"]).name_of("198.18.0.99") is None


def test_literal_addresses_of_the_policy_get_no_name() -> None:
    assert AddressPool(["192.0.2.1", "2001:db8::1"]).name_of("198.18.0.1") is None


def test_a_used_up_range_refuses_in_words_instead_of_sharing_an_address() -> None:
    pool = AddressPool(["a.test", "b.test"], ipaddress.IPv4Network("198.18.0.0/30"))
    with pytest.raises(AddressesExhaustedError, match=r"c\.test gets no address: 2 names"):
        pool.address_of("c.test")
    assert pool.address_of("a.test") == "198.18.0.1"


def test_a_wildcard_has_no_address_of_its_own() -> None:
    pool = AddressPool(["*.a.test", "b.test"])
    assert pool.name_of("198.18.0.1") == "b.test"
    assert pool.name_of("198.18.0.2") is None


def test_names_that_an_agent_makes_up_reach_a_ceiling_and_take_nobodys_address(monkeypatch) -> None:
    monkeypatch.setattr("mediator.addresses.MAX_ASKED", 2)
    pool = AddressPool(["b.test", "c.test", "d.test"])
    given = [pool.address_of(name) for name in ("1.a.test", "2.a.test")]
    with pytest.raises(AddressesExhaustedError, match=r"3\.a\.test gets no address: 2 names"):
        pool.address_of("3.a.test")
    assert [pool.name_of(address) for address in given] == ["1.a.test", "2.a.test"]
    assert pool.address_of("1.a.test") == given[0]
    assert pool.name_of(pool.address_of("c.test")) == "c.test"


def test_names_keep_the_addresses_that_they_had_in_the_run_that_is_replayed() -> None:
    asked = {"2.a.test": "198.18.0.3", "1.a.test": "198.18.0.2", "b.test": "198.18.0.1"}
    pool = AddressPool(["b.test", "c.test"], given=asked)
    assert {name: pool.address_of(name) for name in asked} == asked
    assert pool.address_of("c.test") == "198.18.0.4"
    assert pool.address_of("3.a.test") == "198.18.0.5"


def test_of_addresses_that_a_bundle_gives_only_those_of_the_range_are_taken_and_each_once() -> None:
    pool = AddressPool(given={"a.test": "10.0.0.1", "b.test": "198.18.0.1", "c.test": "198.18.0.1", "d": "x"})
    assert pool.name_of("10.0.0.1") is None
    assert pool.name_of("198.18.0.1") == "b.test"
    assert pool.address_of("c.test") != "198.18.0.1"
