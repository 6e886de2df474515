"""Exactly one authority: the dialled name, the SNI and every Host agree, on an allowed port, or none is."""

import pytest

from hark.policy.decide import Allow, Deny
from hark.policy.model import HostRule, Policy
from mediator.addresses import AddressPool
from mediator.authority import Destination, destination, judge_dial, judge_request, judge_sni
from tests.support.policies import NOON

POLICY = Policy(
    allow_hosts=tuple(
        map(HostRule.parse, ("api.example.test", "api.example.test:8443", "192.0.2.1", "bücher.example"))
    )
)
DIALLED = Destination("api.example.test", 443)


def test_a_synthetic_address_is_the_name_it_stands_for() -> None:
    pool = AddressPool(["api.example.test"])
    assert destination("198.18.0.1", 443, pool) == DIALLED
    assert destination("::ffff:198.18.0.1", 443, pool) == DIALLED
    assert destination("198.18.0.2", 443, pool) == Destination("198.18.0.2", 443)
    assert destination("2001:db8::1", 443, pool) == Destination("2001:db8::1", 443)


def test_a_literal_address_is_allowed_by_its_own_rule_alone() -> None:
    assert isinstance(judge_dial(POLICY, Destination("192.0.2.1", 443), NOON), Allow)
    assert isinstance(judge_dial(POLICY, Destination("192.0.2.2", 443), NOON), Deny)
    assert isinstance(judge_dial(POLICY, Destination("192.0.2.1", 80), NOON), Deny)


@pytest.mark.parametrize("sni", [None, b"api.example.test", b"API.Example.Test", b"api.example.test."])
def test_an_sni_in_another_spelling_of_the_dialled_name_is_allowed(sni: bytes | None) -> None:
    assert isinstance(judge_sni(POLICY, DIALLED, sni, NOON), Allow)


@pytest.mark.parametrize(
    "sni",
    [
        b"other.example.test",
        b"api.example.test.evil.net",
        b"evil\0.api.example.test",
        b"api.example.test\0",
        b"xapi.example.test",
        b"192.0.2.1",
        b"a" * 5000,
        b"\xff\xfe",
    ],
    ids=lambda v: repr(v[:20]),
)
def test_an_sni_that_is_not_the_dialled_name_is_denied(sni: bytes) -> None:
    assert isinstance(judge_sni(POLICY, DIALLED, sni, NOON), Deny)


@pytest.mark.parametrize(
    "hosts",
    [
        [b"api.example.test"],
        [b"API.EXAMPLE.TEST:443"],
        [b"api.example.test."],
        [b"api.example.test", b"api.example.test:443"],
    ],
)
def test_a_request_whose_authorities_all_agree_is_allowed(hosts: list[bytes]) -> None:
    assert isinstance(judge_request(POLICY, DIALLED, hosts, NOON), Allow)


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [b""],
        [b"api.example.test", b""],
        [b"other.example.test"],
        [b"api.example.test", b"evil.test"],
        [b"evil.test", b"api.example.test"],
        [b"api.example.test:8443"],
        [b"api.example.test:"],
        [b"user@api.example.test"],
        [b"api.example.test\0.evil.test"],
        [b"api.example.test evil.test"],
        [b"api.example.test:443:443"],
        [b"0x7f.1"],
        [b"[::ffff:192.0.2.1]"],
        ["api.example.test\u2025evil".encode()],
    ],
    ids=repr,
)
def test_a_request_with_any_other_authority_is_denied(hosts: list[bytes]) -> None:
    assert isinstance(judge_request(POLICY, DIALLED, hosts, NOON), Deny)


@pytest.mark.parametrize(
    "spelling", [b"192.0.2.1", b"3221225985", b"0xc0.0.2.1", b"0300.0.2.1", b"[::ffff:c000:201]"]
)
def test_odd_spellings_of_an_address_are_that_address(spelling: bytes) -> None:
    assert isinstance(judge_request(POLICY, Destination("192.0.2.1", 443), [spelling], NOON), Allow)


def test_an_a_label_is_the_name_that_the_policy_spelled_in_unicode() -> None:
    dialled = Destination("xn--bcher-kva.example", 443)
    assert isinstance(judge_sni(POLICY, dialled, b"xn--bcher-kva.example", NOON), Allow)


def test_the_rule_holds_for_its_port_and_no_other() -> None:
    assert isinstance(
        judge_request(POLICY, Destination("api.example.test", 8443), [b"api.example.test:8443"], NOON), Allow
    )
    denied = judge_request(POLICY, Destination("api.example.test", 80), [b"api.example.test"], NOON)
    assert isinstance(denied, Deny)
    assert denied.hint == "api.example.test:80"


def test_a_disagreement_between_allowed_names_gives_no_rule_to_add() -> None:
    denied = judge_request(POLICY, DIALLED, [b"192.0.2.1"], NOON)
    assert isinstance(denied, Deny)
    assert denied.hint == ""
    assert "192.0.2.1:443, but the connection was made to api.example.test:443" in denied.reason


def test_an_address_that_we_never_gave_out_is_no_hint_for_the_policy() -> None:
    verdict = judge_dial(Policy(), Destination("198.18.0.9", 443), NOON)
    assert verdict == Deny("198.18.0.9 stands for no name that was asked for", "")


@pytest.mark.parametrize("host", [b"a\x1b[31mb", b"", b"evil.test"])
def test_no_entry_is_proposed_for_a_host_that_is_allowed_already(host: bytes) -> None:
    """An agent could have a rule widened by it: what is printed at the end of a run gets pasted."""
    for verdict in (
        judge_request(POLICY, DIALLED, [host], NOON),
        judge_sni(POLICY, DIALLED, host or b"\0", NOON),
    ):
        assert isinstance(verdict, Deny)
        assert verdict.hint == ""
    elsewhere = judge_request(POLICY, Destination("other.example.test", 443), [host], NOON)
    assert isinstance(elsewhere, Deny)
    assert elsewhere.hint == "other.example.test"
