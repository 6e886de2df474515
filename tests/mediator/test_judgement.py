"""A request's head is judged whole: what may be sent, or why not. (The authority alone: test_authority.)"""

from dataclasses import replace
from datetime import timedelta

import pytest

from hark.policy.model import Body, HostRule, Policy, Rule
from mediator.authority import Destination
from mediator.judgement import Asked, Forward, Refusal, judge, judge_trailers
from mediator.link import Link
from mediator.standing import Standing
from tests.mediator import rig
from tests.mediator.rig import VALUE, link_to
from tests.support.policies import NOON

PLACEHOLDER = rig.PLACEHOLDER.encode()


def asked(*headers: tuple[bytes, bytes], **more: bytes) -> Asked:
    fields = {"method": b"GET", "scheme": b"", "authority": b"", "path": b"/"} | more
    return Asked(headers=headers, **fields)


HOST = (b"Host", b"api.example.test")
UPGRADE = (b"Connection", b"Upgrade")


def test_a_request_is_forwarded_with_its_host_in_one_spelling() -> None:
    judged = judge(asked((b"hOST", b"API.example.test.:443"), (b"X", b"1")), link_to())
    assert judged == Forward(
        b"/", ((b"hOST", b"api.example.test:443"), (b"X", b"1")), (), wants_continue=False
    )
    bare = judge(asked((b"Host", b"API.EXAMPLE.TEST")), link_to())
    assert isinstance(bare, Forward)
    assert bare.headers == ((b"Host", b"api.example.test"),)


def test_expect_is_answered_here_and_an_offer_of_http2_is_not_passed_on() -> None:
    judged = judge(
        asked(HOST, (b"Expect", b"100-Continue"), (b"Upgrade", b"h2c"), (b"HTTP2-Settings", b"x"),
              (b"Connection", b"Upgrade, HTTP2-Settings")),
        link_to(),
    )  # fmt: skip
    assert judged == Forward(b"/", (HOST,), (), wants_continue=True)


def test_a_placeholder_is_swapped_in_what_is_sent() -> None:
    judged = judge(asked(HOST, (b"x-api-key", PLACEHOLDER)), link_to())
    assert isinstance(judged, Forward)
    assert (b"x-api-key", VALUE.encode()) in judged.headers
    assert [injection.ref for injection in judged.injections] == ["secrets.API_KEY"]


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        (asked(HOST, method=b"CONNECT"), 403, "not a proxy"),
        (asked(HOST, method=b"GET /x"), 400, "its method or path"),
        (asked(HOST, path=b"/a HTTP/1.1\r\n"), 400, "its method or path"),
        (asked(HOST, path=b""), 400, "its method or path"),
        (asked(HOST, path=b"https://evil.example/steal"), 400, "slash"),
        (asked(HOST, path=b"@o.example/"), 400, "slash"),
        (asked(HOST, path=b"x"), 400, "slash"),
        (asked(HOST, path=b"*"), 400, "slash"),
        (asked(HOST, path=b"*x", method=b"OPTIONS"), 400, "slash"),
        (asked(HOST, (b"Connection", b"close, Host")), 400, "take Host out"),
        (asked(HOST, scheme=b"http"), 403, "not https"),
        (asked(HOST, (b"X", b"a\rb")), 400, "line break"),
        (asked(HOST, (b"X\n", b"a")), 400, "line break"),
        (asked(HOST, (b"Upgrade", b"WebSocket")), 400, "does not say upgrade"),
        (asked(HOST, (b"Upgrade", b"h2c, IRC/6.9")), 400, "does not say upgrade"),
        (asked(HOST, (b"Upgrade", b"h2c, IRC/6.9"), UPGRADE), 403, "stream of irc/6.9"),
        (asked(HOST, (b"Upgrade", b"irc;q=1"), UPGRADE), 501, "no name of a protocol"),
        (asked(HOST, (b"Expect", b"200-maybe")), 417, "expects"),
        (asked((b"Host", b"evil.test")), 403, "evil.test:443"),
        (asked(HOST, authority=b"evil.test"), 403, "evil.test:443"),
        (asked(HOST, HOST), 403, "names no host"),
        (asked(), 403, "names no host"),
        (asked(HOST, path=b"/?k=" + PLACEHOLDER), 403, "stands in the query of the URL"),
        (asked(HOST, method=PLACEHOLDER), 403, "placeholder"),
        (asked(HOST, (b"Content-Encoding", b"xz")), 415, "packed by `xz`"),
        (asked(HOST, (PLACEHOLDER, b"1")), 403, "name of a header"),
        (asked(HOST, (PLACEHOLDER.lower(), b"1")), 403, "name of a header"),
        (asked(HOST, (b"x-" + PLACEHOLDER.upper() + b"-y", b"1")), 403, "name of a header"),
    ],
)
def test_anything_else_is_refused_in_words(request_: Asked, status: int, words: str) -> None:
    judged = judge(request_, link_to())
    assert isinstance(judged, Refusal)
    assert judged.status == status
    assert words in judged.denied.reason


def test_the_control_the_whole_server_may_be_asked_for_its_options() -> None:
    assert isinstance(judge(asked(HOST, path=b"*", method=b"OPTIONS"), link_to()), Forward)


@pytest.mark.parametrize(
    ("trailer", "words"),
    [
        ((b"X", PLACEHOLDER), "stands in a trailer, where it is not replaced"),
        ((PLACEHOLDER.lower(), b"x"), "stands in a trailer, where it is not replaced"),
        ((b"host", b"evil.test"), "host stands in a trailer"),
        ((b"Transfer_Encoding", b"chunked"), "Transfer_Encoding stands in a trailer"),
        ((b"X-Original-URL", b"/no"), "asks for another method or path"),
        ((b"X_HTTP_Method_Override", b"DELETE"), "asks for another method or path"),
        ((b"X", b"a\r\n\r\nGET /smuggled"), "line break"),
    ],
)
def test_a_trailer_that_may_not_leave_is_refused_in_its_own_words(
    trailer: tuple[bytes, bytes], words: str
) -> None:
    denied = judge_trailers(((b"X-Sum", b"1"), trailer), link_to())
    assert denied is not None
    assert words in denied.reason
    assert judge_trailers(((b"X-Sum", b"1"),), link_to()) is None


def test_a_placeholder_toward_another_port_is_refused() -> None:
    here = link_to()
    elsewhere = Destination("api.example.test", 8443)
    policy = Policy(allow_hosts=(HostRule("api.example.test", 8443),))
    other = Link(elsewhere, True, None, Standing(policy), here.broker, here.ledger, here.clock)
    judged = judge(asked((b"Host", b"api.example.test:8443"), (b"k", PLACEHOLDER)), other)
    assert isinstance(judged, Refusal)
    assert judged.denied.reason == "secrets.API_KEY is not bound to api.example.test:8443"


def narrowed(**more: object) -> Link:
    """A link whose one rule has conditions."""
    rule = Rule("api.example.test", name="allow 1: api.example.test", **more)  # type: ignore[arg-type]
    return replace(link_to(), standing=Standing(Policy(allow=(rule,))))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (asked(HOST, method=b"PUT", path=b"/public/x"), "allows GET, OPTIONS, not PUT"),
        (asked(HOST, method=b"get", path=b"/public/x"), "allows GET, OPTIONS, not get"),
        (asked(HOST, path=b"/secret"), "allows /public/**, not /secret"),
        (asked(HOST, path=b"/Public/x"), "allows /public/**, not /Public/x"),
        (asked(HOST, path=b"/public/..%2fsecret"), "encoded slash"),
        (asked(HOST, path=b"/public/%2e%2e/secret"), "dot segment"),
        (asked(HOST, path=b"/public//x"), "empty segment"),
        (asked(HOST, path=b"/public/..;/secret"), "dot segment"),
        (asked(HOST, path="/public/\u00ff".encode()), "must have encoded"),
        (asked(HOST, path=b"http://api.example.test/public/x"), "does not begin with a slash"),
        (asked(HOST, path=b"*", method=b"OPTIONS"), "does not begin with a slash"),
        (asked(HOST, path=b"api.example.test:443", method=b"CONNECT"), "not a proxy"),
    ],
)
def test_a_request_that_no_rule_allows_is_refused_with_the_nearest_rule(request_: Asked, words: str) -> None:
    here = narrowed(methods=("GET", "OPTIONS"), paths=("/public/**",))
    judged = judge(request_, here)
    assert isinstance(judged, Refusal)
    assert words in judged.denied.reason
    assert isinstance(judge(asked(HOST, path=b"/public/x"), here), Forward)


def test_a_rule_that_ends_ends_for_the_requests_of_an_open_connection_too() -> None:
    clock = [NOON - timedelta(seconds=1), NOON]
    here = narrowed(until=NOON)
    here = replace(here, standing=Standing(here.policy, lambda: clock.pop(0)))
    assert isinstance(judge(asked(HOST), here), Forward)
    late = judge(asked(HOST), here)
    assert isinstance(late, Refusal)
    assert "ended at 2030-06-03T12:00:00+00:00" in late.denied.reason


def test_how_bodies_are_recorded_is_said_by_the_rule_that_allowed_the_request() -> None:
    name = "api.example.test"
    read = Rule(name, methods=("GET",), body=Body.HASH)
    write = Rule(name, methods=("PUT",))
    here = replace(link_to(), standing=Standing(Policy(allow=(read, write))))
    kept = [judge(asked(HOST, method=method), here) for method in (b"GET", b"PUT")]
    assert [one.body for one in kept if isinstance(one, Forward)] == [Body.HASH, Body.WHOLE]


def test_a_path_that_the_record_could_not_tell_from_another_is_refused() -> None:
    """The record is text: a byte that is no UTF-8 would read as its escape, which is a path as well."""
    refused = judge(asked(HOST, path=b"/\xff"), link_to())
    assert isinstance(refused, Refusal)
    assert (refused.status, "no UTF-8" in refused.denied.reason) == (400, True)
    for path in (b"/\\xff", "/\u00e9".encode(), b"/%FF"):
        assert isinstance(judge(asked(HOST, path=path), link_to()), Forward)


@pytest.mark.parametrize("name", [b"Transfer_Encoding", b"Content_Length", b"Transfer-Encoding_"])
def test_a_header_of_the_framing_with_underscores_is_refused(name: bytes) -> None:
    judged = judge(asked(HOST, (name, b"chunked")), link_to())
    if name.endswith(b"_"):
        assert isinstance(judged, Forward)  # the control: nobody takes it for one
    else:
        assert isinstance(judged, Refusal)
        assert (
            judged.denied.reason
            == f"its header {name.decode()} has an underscore, which servers read in two ways"
        )


def test_a_credential_goes_into_no_header_that_a_server_keeps() -> None:
    for name in (b"x-amz-meta-note", b"Content-Disposition", b"Content-Type"):
        judged = judge(asked(HOST, (name, PLACEHOLDER)), link_to())
        assert isinstance(judged, Refusal)
        assert "may keep and hand out" in judged.denied.reason
    judged = judge(asked(HOST, (b"X-Api-Key", PLACEHOLDER)), link_to())
    assert isinstance(judged, Forward)  # the control
    assert VALUE.encode() in judged.headers[1][1]
