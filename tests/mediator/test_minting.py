"""Tokens that are minted during a run: the agent gets placeholders that work, and only where they belong."""

import contextlib
import http.client
import json

import pytest

from hark.bundle.events import LlmResponseEnd, TokenSeen
from hark.policy.model import HostRule, Policy, TokenEndpoint
from mediator.authority import Destination
from mediator.codings import PackedError
from mediator.credentials import Broker, Injected, Refused
from mediator.endpoints import minting_at
from mediator.minting import MAX_ANSWER, Mint, MintedText
from mediator.spelling import Place
from mediator.substitution import RequestText
from tests.fakes.upstream import Call
from tests.mediator.rig import API, pair

AUTH, USED, STS, ELSEWHERE = (
    Destination(host, 443) for host in ("auth.openai.com", "api.openai.com", "sts.amazonaws.com", "evil.test")
)
API_AT = Destination(API, 443)
TOKEN, REFRESH = "at-0123456789abcdefghijklmnopqrstuvwxyz", "rt-zyxwvutsrqponmlkjihgfedcba9876543210"
ANSWER = {
    "access_token": TOKEN,
    "expires_in": 3600,
    "nested": [{"refresh_token": REFRESH}],
    "scope": "all of it",
}


def minted(broker: Broker, body: bytes, target: Destination = AUTH, path: bytes = b"/oauth/token") -> bytes:
    minting = minting_at(Policy(), target, path)
    assert minting is not None
    text = MintedText(Mint(broker, lambda _: None), broker.incoming(target), target, minting, Place.JSON)
    return b"".join(text.feed(body[at : at + 9]) for at in range(0, len(body), 9)) + text.finish()


def test_the_agent_gets_placeholders_that_become_the_tokens_again_where_they_are_used() -> None:
    broker = Broker([])
    got = json.loads(minted(broker, json.dumps(ANSWER).encode()))
    stand_in, refresh = got["access_token"], got["nested"][0]["refresh_token"]
    assert (stand_in[:3], len(stand_in), got["scope"]) == ("at-", len(TOKEN), "all of it")
    assert TOKEN not in str(got)
    headers = [(b"authorization", f"Bearer {stand_in}".encode())]
    for target in (AUTH, USED, Destination("chatgpt.com", 443)):
        sent = broker.inject(headers, target)
        assert isinstance(sent, Injected)
        assert sent.headers[0][1] == f"Bearer {TOKEN}".encode()
    for target in (
        ELSEWHERE,
        Destination("api.openai.com.evil.test", 443),
        Destination("api.openai.com", 80),
    ):
        assert isinstance(broker.inject(headers, target), Refused)
    way = RequestText(broker, AUTH, ((b"content-type", b"application/json"),))
    assert json.loads(way.feed(json.dumps({"refresh_token": refresh}).encode()) + way.finish()) == {
        "refresh_token": REFRESH
    }


def test_a_token_that_is_held_already_is_not_minted_again() -> None:
    broker = Broker([])
    first, second = (minted(broker, json.dumps(ANSWER).encode()) for _ in range(2))
    assert first == second
    assert len(broker.held()) == 2


def test_the_keys_of_a_security_token_service_go_together() -> None:
    broker = Broker([])
    body = (
        "<R><Credentials><AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>"
        "<SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY</SecretAccessKey>"
        "<SessionToken>AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmx"
        "</SessionToken></Credentials></R>"
    )
    got = minted(broker, body.encode(), STS, b"/").decode()
    assert got.count("hark") == 3
    assert "EXAMPLE" not in got
    key_id, key, _session = broker.held()
    assert key.sigv4 == key_id.name
    assert isinstance(
        broker.inject([(b"x", key.placeholder.encode())], Destination("sts.amazonaws.com", 443)), Refused
    )


@pytest.mark.parametrize(
    "body", [b'{"access_token": "abc', b" " * (MAX_ANSWER + 1), b'{"access_token": "a\\\\bcdefghijklm"}']
)
def test_an_answer_whose_tokens_cannot_be_kept_does_not_pass(body: bytes) -> None:
    with pytest.raises(PackedError):
        minted(Broker([]), body)


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("oauth2.googleapis.com", b"/token"),
        ("github.com", b"/login/oauth/access_token?x=1"),
        ("login.microsoftonline.com", b"/common/oauth2/v2.0/token"),
        ("sts.eu-central-1.amazonaws.com", b"/token"),
        ("sts.cn-north-1.amazonaws.com.cn", b"/"),
        ("console.anthropic.com", b"/v1/oauth/token"),
        ("gitlab.com", b"/oauth/token"),
        ("auth.openai.com", b"/oauth%2Ftoken"),
    ],
)
def test_an_endpoint_of_the_table_is_known(host: str, path: bytes) -> None:
    assert minting_at(Policy(), Destination(host, 443), path) is not None


def test_other_paths_and_hosts_mint_nothing() -> None:
    for host, path in (
        ("auth.openai.com", b"/other"),
        ("openai.com.evil.test", b"/oauth/token"),
        (API, b"/token"),
    ):
        assert minting_at(Policy(), Destination(host, 443), path) is None


def test_a_token_of_the_policys_own_endpoint_reaches_its_neighbours_and_no_one_else() -> None:
    hosts = tuple(map(HostRule, ("login.example.test", "api.example.test", "evil.test")))
    policy = Policy(allow_hosts=hosts, tokens=(TokenEndpoint("login.example.test", "/t", ("tok",)),))
    minting = minting_at(policy, Destination("login.example.test", 443), b"/t")
    assert minting is not None
    assert {rule.host for rule in minting.used if isinstance(rule, HostRule)} == {
        hosts[0].host,
        hosts[1].host,
    }


def test_a_real_login_leaves_the_token_in_no_event_and_its_use_reaches_the_server() -> None:
    tokens = (TokenEndpoint(API, "/login", ("access_token", "refresh_token")),)
    policy = Policy(allow_hosts=(HostRule(API),), tokens=tokens)
    headers = [("Content-Type", "application/json"), ("Set-Cookie", "sid=0123456789abcdef0")]
    answer = json.dumps(ANSWER | {"unnamed_token": "zz9-Plural8Zalpha7"}).encode()
    with pair(policy=policy) as (rig, upstream), rig.https() as client:
        upstream.routes["/login"] = lambda call: call.reply(200, answer, headers)
        client.request("POST", "/login", body=b"code=1")
        got = json.loads(client.getresponse().read())
        client.request("GET", "/api", headers={"Authorization": f"Bearer {got['access_token']}"})
        client.getresponse().read()
        rig.recorder.wait_for(LlmResponseEnd, 2)
        summary = rig.mediator.summary()
    assert TOKEN not in str(got)
    assert upstream.seen[1].header("authorization") == f"Bearer {TOKEN}"
    assert TOKEN.encode() not in rig.recorder.bytes()
    assert REFRESH.encode() not in rig.recorder.bytes()
    seen = {(event.where, event.name) for event in rig.recorder.of(TokenSeen)}
    minted = {("minted", "access_token"), ("minted", "refresh_token")}
    assert seen == {*minted, ("cookie", "sid"), ("json", "unnamed_token")}
    assert {token.where for token in summary.tokens} == {"minted", "cookie", "json"}


def test_the_control_without_the_row_the_agent_and_the_record_get_the_token() -> None:
    with pair() as (rig, upstream), rig.https() as client:
        kind = [("Content-Type", "application/json")]
        upstream.routes["/login"] = lambda call: call.reply(200, json.dumps(ANSWER).encode(), kind)
        client.request("POST", "/login", body=b"code=1")
        assert TOKEN.encode() in client.getresponse().read()
        rig.recorder.wait_for(LlmResponseEnd)
    assert TOKEN.encode() in rig.recorder.bytes()
    seen = {(event.where, event.name) for event in rig.recorder.of(TokenSeen)}
    assert seen == {("json", "access_token"), ("json", "refresh_token")}


MICROSOFT, GITHUB, GITLAB = (
    Destination(host, 443) for host in ("login.microsoftonline.com", "github.com", "gitlab.com")
)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (MICROSOFT, b"/common/oauth2/v2.0/TOKEN"),
        (MICROSOFT, b"/Common/OAuth2/token/"),
        (Destination("login.live.com", 443), b"/OAuth20_Token.srf"),
        (GITHUB, b"/login/oauth/access_token.json"),
        (GITHUB, b"/login/oauth/access_token?x=1"),
        (GITLAB, b"/oauth;a/token;b=c"),
        (GITLAB, b"/oauth%3Ba/%74oken%3bx"),
        (GITLAB, b"/api/../oauth/token"),
        (Destination("sts.eu-central-1.amazonaws.com", 443), b"/"),
        (Destination("sts.cn-northwest-1.amazonaws.com.cn", 443), b"/"),
        (STS, b"/any"),
        (API_AT, b"/Token;x/"),
    ],
)
def test_an_endpoint_is_known_however_lenient_its_server_is(target: Destination, path: bytes) -> None:
    policy = Policy(tokens=(TokenEndpoint(API, "/token", ("access_token",)),))
    assert minting_at(policy, target, path) is not None


def test_the_control_another_path_mints_nothing() -> None:
    for target in (MICROSOFT, GITHUB, GITLAB, Destination("s3.eu-central-1.amazonaws.com", 443)):
        assert minting_at(Policy(), target, b"/tokens/list") is None


@pytest.mark.parametrize(
    "body",
    [
        b'/**/call({"access_token": "%s"});',
        b')]}\'\n{"access_token":"%s"}',
        b'{"access_token": "%s", "access_token": "another-0123456789"}',
        b"<R><access_token><![CDATA[%s]]></access_token></R>",
    ],
)
def test_a_token_is_found_in_what_readers_take_for_an_answer(body: bytes) -> None:
    assert TOKEN.encode() not in minted(Broker([]), body % TOKEN.encode())


def test_a_token_that_holds_another_secret_is_not_kept_as_a_new_one() -> None:
    """Its placeholder would carry that secret to hosts that it is not bound to."""
    broker = Broker([])
    minted(broker, json.dumps({"access_token": TOKEN}).encode())
    with pytest.raises(PackedError, match="holds another secret"):
        minted(broker, json.dumps({"access_token": f"x{TOKEN}y"}).encode())


def test_a_path_that_a_header_asks_for_mints_as_well_and_no_part_of_an_answer_is_asked_for() -> None:
    tokens = (TokenEndpoint(API, "/login", ("access_token", "refresh_token")),)
    policy = Policy(allow_hosts=(HostRule(API),), tokens=tokens)
    with pair(policy=policy) as (rig, upstream), rig.https() as client:
        upstream.routes["/x"] = lambda call: call.reply(200, json.dumps(ANSWER).encode())
        client.request("POST", "/x", b"code=1", {"X_Original-URL": "/login", "Range": "bytes=0-20"})
        assert TOKEN.encode() not in client.getresponse().read()
    assert upstream.seen[0].header("range") is None


def test_a_token_in_the_head_of_an_answer_is_kept() -> None:
    tokens = (TokenEndpoint(API, "/login", ("access_token",)),)
    policy = Policy(allow_hosts=(HostRule(API),), tokens=tokens)

    def redirect(call: Call) -> None:
        call.reply(302, b"", [("Location", f"/cb#access_token={TOKEN}"), ("Access-Token", REFRESH)])

    with pair(policy=policy) as (rig, upstream), rig.https() as client:
        upstream.routes["/login"] = upstream.routes["/other"] = redirect
        for path, shown in (("/other", True), ("/login", False)):
            client.request("GET", path)
            answer = client.getresponse()
            answer.read()
            assert (TOKEN in (answer.headers["Location"] or "")) == shown, path
            assert (answer.headers["Access-Token"] == REFRESH) == shown, path


@pytest.mark.parametrize("coding", ["utf-16", "utf-8"])
def test_an_answer_in_a_format_that_is_not_understood_does_not_reach_the_agent(coding: str) -> None:
    body = json.dumps({"access_token": TOKEN}).encode(coding)
    tokens = (TokenEndpoint(API, "/login", ("access_token",)),)
    for policy in (Policy(allow_hosts=(HostRule(API),), tokens=tokens), Policy(allow_hosts=(HostRule(API),))):
        with pair(policy=policy) as (rig, upstream), rig.https() as client:
            upstream.routes["/login"] = lambda call: call.reply(200, body)
            client.request("GET", "/login")
            try:
                got = client.getresponse().read().replace(b"\0", b"")
            except (http.client.HTTPException, OSError):
                got = b""
            assert (TOKEN.encode() in got) == (not policy.tokens)  # the control: no row, no defence
            assert policy.tokens == () or (b"hark" in got) == (coding == "utf-8")


def test_an_answer_that_nests_without_end_ends_itself_and_not_the_run() -> None:
    body = b'{"a":' * 3000 + b"1" + b"}" * 3000
    tokens = (TokenEndpoint(API, "/login", ("access_token",)),)
    policy = Policy(allow_hosts=(HostRule(API),), tokens=tokens)
    with pair(policy=policy) as (rig, upstream):
        upstream.routes["/login"] = lambda call: call.reply(200, body)
        with rig.https() as client, contextlib.suppress(http.client.HTTPException, OSError):
            client.request("GET", "/login")
            assert body not in client.getresponse().read()
        with rig.https() as client:
            client.request("GET", "/other")
            assert client.getresponse().read() == b"GET /other 0"
    assert rig.fatal == []
    assert any("nests more than 200 deep" in warning for warning in rig.mediator.summary().warnings)
