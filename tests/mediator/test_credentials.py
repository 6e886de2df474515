"""Credentials: placeholders leave only as values for their own host; values enter no event, error or repr."""

import base64
import copy
import json
import pickle
import random
from dataclasses import replace
from urllib.parse import parse_qs, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import RecordError
from hark.policy.model import HostRule, Secret, Surface
from mediator.authority import Destination
from mediator.credentials import Broker, Injected, InjectedTarget, Refused, placeholder_for
from mediator.grants import Held
from mediator.scan import FoundError
from mediator.spelling import normal

VALUE = "sk-ant-api03-5e884898da28047151d0e56f8dc62927"
OTHER_VALUE = "ghp_0123456789abcdefABCDEF0123456789abcd"
API, GIT = Destination("api.example.test", 443), Destination("git.example.test", 443)
RNG = random.Random(7)
MINE = Secret("API_KEY", VALUE, placeholder_for(VALUE, RNG), (HostRule("api.example.test"),))
THEIRS = Secret("GIT_TOKEN", OTHER_VALUE, placeholder_for(OTHER_VALUE, RNG), (HostRule("git.example.test"),))


def test_a_placeholder_in_a_name_is_found_in_small_letters_and_across_labels(broker: Broker) -> None:
    spelled = THEIRS.placeholder.lower()
    for host in (
        f"{spelled}.example.test",
        f"x{THEIRS.placeholder}.test",
        f"{spelled[:9]}.{spelled[9:]}.test",
    ):
        assert broker.in_name(host) == "GIT_TOKEN"
    assert broker.in_name(f"{spelled[:-1]}.example.test") is None
    assert Broker(()).in_name("a.example.test") is None


@pytest.fixture
def broker() -> Broker:
    return Broker((MINE, THEIRS), b"k" * 32)


def sent(broker: Broker, value: str, target: Destination = API) -> bytes:
    injected = broker.inject([(b"Authorization", value.encode())], target)
    assert isinstance(injected, Injected)
    return injected.headers[0][1]


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
    ("form", "spelled"),
    [
        (lambda text: text.encode().hex(), lambda text: text.encode().hex()),
        (lambda text: text.replace("-", "%2D"), lambda text: text.replace("-", "%2D")),
        (lambda text: base64.b64encode(text.encode()).decode(),) * 2,
    ],
    ids=["hex", "percent", "base64"],
)
def test_a_placeholder_in_a_spelling_of_its_own_leaves_as_the_value_or_not_at_all(
    broker: Broker, form: object, spelled: object
) -> None:
    encoded, wanted = form(MINE.placeholder), spelled(VALUE)  # type: ignore[operator]
    got = sent(broker, f"a={encoded}")
    assert normal(got) == normal(f"a={wanted}".encode())
    assert isinstance(broker.inject([(b"X", f"a={encoded}".encode())], GIT), Refused)
    assert isinstance(broker.inject_target(f"/?k={encoded}".encode(), API), Refused)


def test_a_url_holds_the_value_where_the_secret_may_stand_there() -> None:
    value = "p%40ss/w+rd& 0123456789ab?"
    placeholder = placeholder_for(value)
    places = (Surface.QUERY, Surface.PATH)
    held = Broker([Secret("K", value, placeholder, (HostRule("api.example.test"),), places)])
    got = held.inject_target(f"/bot{placeholder}/x?k={placeholder}&p=1".encode(), API)
    assert isinstance(got, InjectedTarget)
    path, _, query = got.path.decode().partition("?")
    assert unquote(path.split("/")[1]) == f"bot{value}"
    assert parse_qs(query) == {"k": [value], "p": ["1"]}
    assert [injection.ref for injection in got.injections] == ["secrets.K"]
    assert isinstance(held.inject_target(f"/?k={placeholder}".encode(), GIT), Refused)
    refused = held.inject([(b"X", placeholder.encode())], API)
    assert isinstance(refused, Refused)
    assert "; send it in the query of the URL or the path of the URL, or write" in refused.reason
    assert 'write `in = ["header", "query", "path"]` under [secrets.K]' in refused.reason


def test_an_answer_holds_the_placeholder_where_the_server_wrote_the_value(broker: Broker) -> None:
    assert broker.turned_back(b"a " + VALUE.encode(), API) == b"a " + MINE.placeholder.encode()


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
        refused = broker.inject_target(b"/v1?key=" + path.encode(), API)
        assert isinstance(refused, Refused)
        assert 'write `in = ["header", "basic", "query"]` under [secrets.API_KEY]' in refused.reason
    assert broker.inject_target(b"/v1?key=value", API) == InjectedTarget(b"/v1?key=value", ())


def test_a_credential_that_is_added_during_the_run_is_known_at_once(broker: Broker) -> None:
    minted, stand_in = "minted-0123456789abcdefghij", "hark" + "m" * 30
    swap, watch = broker.incoming(API), broker.stopping(from_agent=False)
    assert swap.feed(minted.encode() + b".") == minted.encode() + b"."
    broker.guard(minted.encode())
    broker.add(Held("MINTED", minted, stand_in, (((HostRule(API.host),), (Surface.HEADER,)),)))
    assert swap.feed(minted.encode() + b".") == stand_in.encode() + b"."
    with pytest.raises(FoundError):
        watch.feed(minted.encode())
    with pytest.raises(RecordError):
        broker.guard(minted.encode())
    assert sent(broker, stand_in) == minted.encode()
    assert isinstance(broker.inject([(b"X", stand_in.encode())], GIT), Refused)


def test_what_may_leave_nowhere_stops_at_a_placeholder(broker: Broker) -> None:
    swap = broker.stopping(from_agent=True)
    swap.feed(b"{" + MINE.placeholder[:9].encode())
    with pytest.raises(FoundError):
        swap.feed(MINE.placeholder[9:].encode())
    assert "secrets.API_KEY" in broker.refusal(FoundError("API_KEY")).reason
    assert broker.in_method(MINE.placeholder.encode()) is not None
    assert broker.in_trailers([(b"X", MINE.placeholder.encode())]) is not None
    assert broker.in_trailers([(b"X", b"1")]) is None


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


QUOTED = 'sk-"real"/5e884898da28047151d0'
ESCAPED = "".join(f"\\u{ord(char):04X}" for char in QUOTED)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"a": QUOTED}),
        json.dumps({"a": QUOTED}).replace("/", "\\/"),
        f'{{"a":"{ESCAPED}"}}',
        json.dumps({"a": f'{{"b":"{ESCAPED}"}}'}),
        json.dumps({"a": json.dumps({"b": json.dumps([QUOTED])})}),
        json.dumps({"a": base64.b64encode(QUOTED.encode()).decode()}),
    ],
)
def test_a_value_is_found_in_json_however_it_is_escaped(text: str) -> None:
    held = Broker([replace(MINE, value=QUOTED)])
    assert held.real_value_in(text.encode()) == "API_KEY"
    other = json.dumps({"a": "\\u0073k\n", "b": [ESCAPED[:-6]]})
    assert held.real_value_in(other.encode()) is None


def test_a_broker_shows_and_pickles_no_value(broker: Broker) -> None:
    assert VALUE not in repr(broker)
    assert VALUE not in repr(MINE)
    with pytest.raises(TypeError):
        pickle.dumps(broker)
    with pytest.raises(TypeError):
        copy.copy(broker)


_HELD = MINE.placeholder.encode()
_PARTS = [
    b"",
    b"x",
    b"%",
    b"\\",
    b"n",
    b"&#",
    b"sk-",
    b"Basic ",
    b" ",
    b"Basic " + base64.b64encode(b"u:" + _HELD),
]
_PARTS += [
    _HELD,
    _HELD[:9],
    _HELD[9:],
    base64.b64encode(_HELD),
    VALUE.encode(),
    VALUE[:9].encode(),
    VALUE[9:].encode(),
]
_PIECES = st.lists(st.sampled_from(_PARTS), max_size=4).map(b"".join)
_FIELDS = st.lists(st.tuples(_PIECES, _PIECES), max_size=3)


@given(path=_PIECES, fields=_FIELDS)
def test_a_head_that_is_called_idle_is_one_that_the_long_way_leaves_alone(
    path: bytes, fields: list[tuple[bytes, bytes]]
) -> None:
    broker = Broker((MINE, THEIRS))
    if broker.idle(b"GET", path, fields):
        assert broker.inject_target(path, API) == InjectedTarget(path, ())
        assert broker.inject(fields, API) == Injected(tuple(fields), ())


@given(fields=_FIELDS)
def test_fields_that_are_said_to_echo_nothing_hold_no_value(fields: list[tuple[bytes, bytes]]) -> None:
    broker = Broker((MINE, THEIRS))
    if not broker.echoes(fields):
        assert all(broker.turned_back(value, API) == value for _, value in fields)
        assert all(broker.real_value_in(part) is None for field in fields for part in field)
        assert broker.real_value_in(b"".join(value for _, value in fields)) is None


def test_the_control_heads_with_something_in_them_are_not_idle(broker: Broker) -> None:
    assert broker.idle(b"POST", b"/v1", [(b"x-api-key", b"sk-none")])
    assert not broker.idle(b"POST", b"/v1", [(b"x-api-key", _HELD)])
    assert not broker.idle(b"POST", b"/v1?key=" + _HELD, [])
    assert not broker.idle(_HELD, b"/v1", [(_HELD, b"")])
    assert not broker.echoes([(b"x", b"y")])
    assert broker.echoes([(b"x", VALUE[:9].encode()), (b"y", VALUE[9:].encode())])
