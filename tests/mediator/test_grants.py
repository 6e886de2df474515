"""A credential may stand where its grants for that host say; anywhere else there is a reason not to."""

from dataclasses import replace

import pytest

from hark.policy.model import HostRule, Secret, Surface
from mediator.authority import Destination, Unproven
from mediator.grants import Held, held_of, pair_of

API, GIT, ELSEWHERE = (Destination(f"{name}.example.test", 443) for name in ("api", "git", "evil"))
HEADER, BODY, QUERY = Surface.HEADER, Surface.BODY, Surface.QUERY
HELD = Held(
    "KEY",
    "sk-real-5e884898",
    "sk-harkAbCdEfGhI",
    (
        ((HostRule(API.host),), (HEADER, BODY)),
        ((HostRule(API.host), HostRule(GIT.host)), (HEADER,)),
    ),
)


def test_grants_for_one_host_add_up() -> None:
    assert HELD.surfaces_for(API) == (HEADER, BODY)
    assert HELD.surfaces_for(GIT) == (HEADER,)
    assert HELD.surfaces_for(ELSEWHERE) is None
    assert HELD.surfaces_for(replace(API, port=80)) is None


def test_a_key_that_signs_is_bound_and_stands_nowhere() -> None:
    key = replace(HELD, sigv4="ID")
    assert key.surfaces_for(API) == ()
    assert key.surfaces_for(ELSEWHERE) is None
    assert pair_of(key, API, HEADER).refusal == "secrets.KEY is a key that signs, and is put nowhere"


@pytest.mark.parametrize(
    ("value", "even"),
    [(HELD.value, True), (HELD.value + "x", False), ("sk real-5e884898", False), ('sk"real-5e884898', False)],
)
def test_a_value_is_even_where_no_spelling_makes_it_longer_than_its_placeholder(
    value: str, even: bool
) -> None:
    assert replace(HELD, value=value).even is even


def test_a_placeholder_is_replaced_where_it_is_granted() -> None:
    pair = pair_of(HELD, API, BODY)
    assert (pair.old, pair.new, pair.refusal) == (HELD.placeholder.encode(), HELD.value.encode(), "")


def test_anywhere_else_the_reason_says_what_to_write() -> None:
    assert pair_of(HELD, ELSEWHERE, HEADER).refusal == f"secrets.KEY is not bound to {ELSEWHERE}"
    reason = pair_of(HELD, API, QUERY).refusal
    assert "stands in the query of the URL" in reason
    assert "send it in a header or the request's body, or write `in = [" in reason
    assert '"query"' in reason


def test_a_secret_of_the_policy_has_one_grant_and_shows_no_value() -> None:
    held = held_of(Secret("KEY", HELD.value, HELD.placeholder, (HostRule(API.host),), (QUERY,)))
    assert held.grants == (((HostRule(API.host),), (QUERY,)),)
    assert HELD.value not in repr(held)


def test_where_nobody_has_shown_who_they_are_it_goes_only_if_the_policy_says_so() -> None:
    unproven = Unproven(API.host, API.port)
    assert HELD.surfaces_for(unproven) is None
    reason = pair_of(HELD, unproven, HEADER).refusal
    assert f"does not go to {API} without TLS" in reason
    assert "write `plain = true` under [secrets.KEY]" in reason
    assert replace(HELD, plain=True).surfaces_for(unproven) == HELD.surfaces_for(API)
    elsewhere = Unproven(ELSEWHERE.host, 443)
    assert replace(HELD, plain=True).surfaces_for(elsewhere) is None
    assert pair_of(HELD, elsewhere, HEADER).refusal == f"secrets.KEY is not bound to {ELSEWHERE}"
