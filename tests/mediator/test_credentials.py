"""Credentials: placeholders leave only as values for their own host; values enter no event, error or repr."""

import base64
import copy
import pickle
import random

import pytest

from hark.errors import PolicyError, RecordError
from hark.policy.model import HostRule, Secret
from mediator.authority import Destination
from mediator.credentials import Broker, Injected, Refused, check_value, placeholder_for
from mediator.scan import FoundError

VALUE = "sk-ant-api03-5e884898da28047151d0e56f8dc62927"
OTHER_VALUE = "ghp_0123456789abcdefABCDEF0123456789abcd"
API, GIT = Destination("api.example.test", 443), Destination("git.example.test", 443)
RNG = random.Random(7)
MINE = Secret("API_KEY", VALUE, placeholder_for(VALUE, RNG), (HostRule("api.example.test"),))
THEIRS = Secret("GIT_TOKEN", OTHER_VALUE, placeholder_for(OTHER_VALUE, RNG), (HostRule("git.example.test"),))


@pytest.fixture
def broker() -> Broker:
    return Broker((MINE, THEIRS), b"k" * 32)


def sent(broker: Broker, value: str, target: Destination = API) -> bytes:
    injected = broker.inject([(b"Authorization", value.encode())], target)
    assert isinstance(injected, Injected)
    return injected.headers[0][1]


@pytest.mark.parametrize(
    ("value", "prefix"),
    [
        (VALUE, "sk-ant-api03-"),
        ("sk-abcdefghijklmnopqrstuvwxyz", "sk-"),
        (OTHER_VALUE, "ghp_"),
        ("AIzaSyA1234567890abcdefghijklmnopqrst", "AIza"),
        ("xoxb-123456789012-abcdefghijkl", "xoxb-"),
        ("github_pat_11ABCDEFG0123456789abcdef", "github_pat_"),
        ("0123456789abcdef0123456789abcdef", ""),
        ("correct horse battery staple", ""),
    ],
)
def test_a_placeholder_keeps_the_prefix_that_programs_check_and_nothing_else(value: str, prefix: str) -> None:
    placeholder = placeholder_for(value, random.Random(1))
    assert placeholder.startswith(prefix + "hark")
    assert len(placeholder) >= len(prefix) + 4 + 24
    assert len(placeholder) == max(len(value), len(prefix) + 28)
    rest = value[len(prefix) :]
    assert not any(rest[at : at + 4] in placeholder[len(prefix) + 4 :] for at in range(len(rest) - 3))


def test_no_two_placeholders_are_alike() -> None:
    assert len({placeholder_for(VALUE) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "value", ["a", "1234567", "aaaaaaaaaaaa", "12121212", "", "line\nbreak-0123", "x" * 70000]
)
def test_a_value_that_cannot_be_told_from_traffic_is_refused_in_words_without_it(value: str) -> None:
    with pytest.raises(PolicyError, match=r"secrets\.API_KEY") as refused:
        check_value("API_KEY", value)
    assert len(value) < 3 or value not in str(refused.value)
    with pytest.raises(PolicyError):
        Broker([Secret("API_KEY", value, "p" * 30, ())])


def test_the_control_a_real_credential_is_accepted() -> None:
    for value in (VALUE, OTHER_VALUE, "s3cr3t!pw"):
        check_value("API_KEY", value)


def test_overlapping_placeholders_are_refused() -> None:
    first = Secret("A", VALUE, "p" * 30, ())
    second = Secret("B", OTHER_VALUE, "p" * 31, ())
    with pytest.raises(PolicyError, match=r"secrets\.B and secrets\.A overlap"):
        Broker([first, second])


def test_a_placeholder_is_replaced_for_its_own_host(broker: Broker) -> None:
    assert sent(broker, f"Bearer {MINE.placeholder}") == f"Bearer {VALUE}".encode()
    assert sent(broker, f"token {THEIRS.placeholder}", GIT) == f"token {OTHER_VALUE}".encode()
    assert sent(broker, "nothing to do") == b"nothing to do"


@pytest.mark.parametrize(
    "target", [GIT, Destination("api.example.test", 80), Destination("evil.test", 443)], ids=str
)
def test_a_placeholder_is_refused_for_any_other_host_or_port(broker: Broker, target: Destination) -> None:
    refused = broker.inject([(b"Authorization", MINE.placeholder.encode())], target)
    assert isinstance(refused, Refused)
    assert refused.reason == f"secrets.API_KEY is not bound to {target}"


def test_one_placeholder_of_two_that_is_not_bound_refuses_the_request(broker: Broker) -> None:
    headers = [(b"A", MINE.placeholder.encode()), (b"B", THEIRS.placeholder.encode())]
    assert isinstance(broker.inject(headers, API), Refused)


def test_basic_auth_is_opened_and_closed_again(broker: Broker) -> None:
    text = base64.b64encode(f"x-access-token:{THEIRS.placeholder}".encode()).decode()
    assert sent(broker, f"Basic {text}", GIT) == b"Basic " + base64.b64encode(
        f"x-access-token:{OTHER_VALUE}".encode()
    )
    refused = broker.inject([(b"Authorization", f"Basic {text}".encode())], API)
    assert isinstance(refused, Refused)


def test_a_value_that_is_itself_the_whole_basic_token_is_replaced(broker: Broker) -> None:
    assert sent(broker, f"Basic {MINE.placeholder}") == f"Basic {VALUE}".encode()


@pytest.mark.parametrize(
    "form",
    [
        lambda p: p.encode().hex(),
        lambda p: base64.b64encode(p.encode()).decode(),
        lambda p: p.replace("-", "%2d"),
    ],
)
def test_a_placeholder_in_an_encoding_of_its_own_never_leaves(broker: Broker, form: object) -> None:
    encoded = form(MINE.placeholder)  # type: ignore[operator]
    outcome = broker.inject([(b"X", f"a{encoded}".encode())], API)
    path = broker.in_path(f"/?k={encoded}".encode())
    assert isinstance(outcome, Refused) or isinstance(path, Refused)


def test_each_injection_is_reported_with_a_hash_that_is_keyed(broker: Broker) -> None:
    headers = [(b"A", MINE.placeholder.encode()), (b"B", MINE.placeholder.encode())]
    injected = broker.inject(headers, API)
    again = Broker((MINE,), b"j" * 32).inject(headers, API)
    assert isinstance(injected, Injected)
    assert isinstance(again, Injected)
    (one,), (other,) = injected.injections, again.injections
    assert (one.ref, one.placeholder) == ("secrets.API_KEY", MINE.placeholder)
    assert one.value_hash != other.value_hash

    from blake3 import blake3

    assert one.value_hash != blake3(VALUE.encode()).digest()


def test_a_url_with_a_placeholder_is_refused_also_behind_percent_signs(broker: Broker) -> None:
    for path in (MINE.placeholder, "".join(f"%{ord(c):02X}" for c in MINE.placeholder)):
        refused = broker.in_path(b"/v1?key=" + path.encode())
        assert refused is not None
        assert "send it in a header" in refused.reason
    assert broker.in_path(b"/v1?key=value") is None


def test_a_body_scan_finds_a_placeholder_across_pieces(broker: Broker) -> None:
    scan = broker.outgoing()
    scan.feed(b"{" + MINE.placeholder[:9].encode())
    with pytest.raises(FoundError) as found:
        scan.feed(MINE.placeholder[9:].encode())
    assert "secrets.API_KEY" in broker.body_refusal(found.value).reason


@pytest.mark.parametrize(
    "form",
    [
        VALUE.encode(),
        base64.b64encode(b"user:" + VALUE.encode()),
        VALUE.encode().hex().encode(),
        VALUE.replace("-", "%2D").encode(),
    ],
)
def test_the_guard_refuses_a_payload_with_the_value_in_any_form(broker: Broker, form: bytes) -> None:
    if form == VALUE.replace("-", "%2D").encode():
        form = "".join(f"%{ord(c):02X}" for c in VALUE).encode()
    with pytest.raises(RecordError, match=r"secrets\.API_KEY") as refused:
        broker.guard(b"before " + form + b" after")
    assert VALUE not in str(refused.value)


def test_the_control_the_guard_passes_placeholders(broker: Broker) -> None:
    broker.guard(b"x" + MINE.placeholder.encode() + VALUE[:-1].encode())


def test_a_broker_shows_and_pickles_no_value(broker: Broker) -> None:
    assert VALUE not in repr(broker)
    assert VALUE not in repr(MINE)
    with pytest.raises(TypeError):
        pickle.dumps(broker)
    with pytest.raises(TypeError):
        copy.copy(broker)
