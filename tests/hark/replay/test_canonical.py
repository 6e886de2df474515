"""Keys of requests: two requests have one key exactly where a server could not tell them apart on purpose."""

import datetime
import gzip
import json

import cbor2
import pytest
from blake3 import blake3
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from urllib3.filepost import encode_multipart_formdata

from hark.bundle.events import BodyHash, LlmRequest, RequestChunk, Trailers
from hark.policy.model import ReplayRules
from hark.replay.canonical import MAX_HELD, NO_RULES, Gathering, Rules, canonical

JSON_TYPE = ("content-type", "application/json")
PROMPT = {"model": "m", "messages": [{"role": "user", "content": "Say hello."}], "metadata": {"trace": "1"}}


def request(body=b"", *fields, method="POST", host="api.example", path="/v1/chat", **more):
    raw = tuple((name.encode(), value.encode()) for name, value in fields)
    return LlmRequest(host=host, method=method, path=path, body=body, raw_headers=raw, **more)


def key(*args, rules=NO_RULES, **more):
    return canonical(request(*args, **more), rules).key


def asked(prompt, *fields, rules=NO_RULES, **how):
    return key(json.dumps(prompt, **how).encode(), JSON_TYPE, *fields, rules=rules)


def test_one_character_of_a_prompt_makes_another_key():
    other = {**PROMPT, "messages": [{"role": "user", "content": "Say hello!"}]}
    assert asked(PROMPT) != asked(other)


def test_how_json_was_written_makes_no_other_key():
    assert asked(PROMPT) == asked(PROMPT, indent=2) == asked(dict(reversed(PROMPT.items())))
    packed = gzip.compress(json.dumps(PROMPT).encode())
    assert asked(PROMPT) == key(packed, JSON_TYPE, ("Content-Encoding", "gzip"), ("Content-Length", "9"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1}', b'{"a":1}]junk'),
        (b'{"a":1}', b'{"a":1,"a":1}'),
        (b'{"a":2}', b'{"a":1,"a":2}'),
        (b'{"a":9007199254740993}', b'{"a":9007199254740992}'),
        (b'{"a":1}', b'{"a":"1"}'),
        (b'{"a":1}', b'{"a":true}'),
        (b'{"a":NaN}', b'{"a":null}'),
        (b"", b"{}"),
        (b"", b"null"),
        (b'{"a":"\\ud800"}', b'{"a":"\\ufffd"}'),
        (b'{"a":"\\u0000secret KEY\\u0000"}', b'{"a":"sk-hark1234567890"}'),
    ],
)
def test_known_collisions_are_none(one, other):
    rules = Rules({"sk-hark1234567890": "KEY"})
    assert key(one, JSON_TYPE, rules=rules) != key(other, JSON_TYPE, rules=rules)


def test_every_part_of_a_request_counts():
    keys = [
        key(b"{}", JSON_TYPE),
        key(b"{}", JSON_TYPE, method="PUT"),
        key(b"{}", JSON_TYPE, host="api.example:8443"),
        key(b"{}", JSON_TYPE, path="/v1/chat/"),
        key(b"{}", JSON_TYPE, path="/v1/chat?a=1"),
        key(b"{}", JSON_TYPE, ("accept", "text/event-stream")),
        key(b"{}", ("content-type", "application/json; charset=utf-8")),
        key(b"{}"),
        key(b"[]", JSON_TYPE),
        key(b"{}", JSON_TYPE, ("x", "content-type")),
    ]
    assert len(set(keys)) == len(keys)


def test_versions_of_sdk_and_interpreter_make_no_other_key():
    fields = [("User-Agent", "sdk/1"), ("X-Stainless-Retry-Count", "1"), ("X-Stainless-Lang", "python")]
    others = [("user-agent", "sdk/2"), ("X-Stainless-Retry-Count", "2"), ("Host", "x"), ("Date", "now")]
    assert asked(PROMPT, *fields) == asked(PROMPT, *others) == asked(PROMPT)
    assert asked(PROMPT, ("anthropic-beta", "a")) != asked(PROMPT)


def test_a_placeholder_counts_by_the_name_of_its_secret():
    one, other = Rules({"sk-hark1111": "KEY"}), Rules({"sk-hark2222": "KEY"})
    head = ("x-api-key", "sk-hark1111"), ("x-api-key", "sk-hark2222")
    assert asked(["sk-hark1111"], head[0], rules=one) == asked(["sk-hark2222"], head[1], rules=other)
    assert asked(PROMPT, head[0], rules=one) != asked(PROMPT, head[1], rules=one)
    assert key(path="/v1?key=sk-hark1111", rules=one) == key(path="/v1?key=sk-hark2222", rules=other)
    assert key(path="/v1?key=sk-hark1111", rules=one) != key(path="/v1?key=sk-hark1111", rules=other)


def test_what_the_policy_ignores_makes_no_other_key():
    rules = Rules.of({}, ReplayRules(("X-Turn",), ("$.metadata.trace",)))
    traced = {**PROMPT, "metadata": {"trace": "2"}}
    assert asked(PROMPT) != asked(traced)
    assert asked(PROMPT, ("x-turn", "1"), rules=rules) == asked(traced, ("x-turn", "2"), rules=rules)
    assert asked(PROMPT, rules=rules) != asked({**PROMPT, "metadata": {"trace": "1", "user": 1}}, rules=rules)


def test_a_query_parameter_that_is_ignored_does_not_count_and_every_other_does():
    rules = Rules.of({}, ReplayRules(ignore_query=("no nce",)))
    one, other = "/v1?no%20nce=1&a=1", "/v1?a=1&no+nce=2"
    assert key(path=one) != key(path=other)
    assert key(path=one, rules=rules) == key(path=other, rules=rules)
    assert key(path=one, rules=rules) != key(path="/v1?a=2", rules=rules)


def gathered(body, size, *, streaming=True, rules=NO_RULES, after=()):
    found = Gathering(request(b"", JSON_TYPE, streaming=streaming))
    pieces = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    for number, piece in enumerate(pieces):
        assert not found.whole
        found.add(RequestChunk(seq=number, data=piece, last=number == len(pieces) - 1))
    assert found.whole
    for event in after:
        found.add(event)
    return found.canonical(rules)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_body_in_pieces_has_the_key_of_the_whole(size):
    body = json.dumps(PROMPT).encode()
    assert gathered(body, size).key == asked(PROMPT)
    assert gathered(b"", size).key == key(b"", JSON_TYPE)


def test_trailers_are_kept_and_are_no_part_of_the_key():
    found = Gathering(request(b"{}", JSON_TYPE))
    before = found.canonical().key
    found.add(Trailers(from_agent=True, raw_headers=((b"X-Sum", b"1"),)))
    assert found.trailers == ((b"X-Sum", b"1"),)
    assert found.canonical().key == before


def test_of_a_body_that_was_answered_before_its_end_only_the_head_counts():
    keys = set()
    for piece in (b"abc", b"abcdef"):
        found = Gathering(request(b"", JSON_TYPE, streaming=True))
        found.add(RequestChunk(data=piece))
        assert not found.whole
        keys.add(found.canonical().key)
    assert len(keys) == 1
    assert keys.isdisjoint({key(b"", JSON_TYPE), key(b"abc", JSON_TYPE)})


def test_a_body_beyond_what_is_held_counts_by_its_hash():
    body = b"x" * (MAX_HELD + 1)
    found = gathered(body, 1 << 20)
    assert (found.form, found.body, found.size, found.digest) == (
        "bytes",
        b"",
        len(body),
        blake3(body).digest(),
    )
    assert found.key == gathered(body, 3 << 20).key
    assert found.key != gathered(body[:-1] + b"y", 1 << 20).key
    assert len(gathered(body[:-1], 1 << 20).body) == MAX_HELD


def test_a_body_that_was_not_stored_counts_by_the_hash_that_was():
    found = Gathering(request(b"", JSON_TYPE, streaming=True))
    found.add(BodyHash(from_agent=True, length=5, hash=b"h" * 32))
    assert found.whole
    assert found.canonical().form == "hash"
    other = Gathering(request(b"", JSON_TYPE))
    other.add(BodyHash(from_agent=True, length=5, hash=b"i" * 32))
    assert found.canonical().key != other.canonical().key


def test_a_bundle_without_raw_headers_is_read_by_its_map():
    event = LlmRequest("api.example", "POST", "/v1/chat", {"Content-Type": "application/json"}, b"{ }")
    assert canonical(event).key == key(b"{}", JSON_TYPE)


def test_the_key_is_what_the_format_page_says():
    body = b'{"a":[],"b":1}'
    fields = [[b"content-type", b"application/json"]]
    listed = [1, "POST", "api.example", b"/v1", [[b"x", b"a"], [b"y", None]], fields, "json", len(body)]
    hasher = blake3(derive_key_context="hark canonical request v1")
    hasher.update(cbor2.dumps([*listed, blake3(body).digest()], canonical=True))
    found = key(b'{"b": 1.0, "a": []}', JSON_TYPE, path="/v1?x=%61&y")
    assert found == hasher.digest()
    assert found.hex() == "93511d17a3e54f594eeb6e7bf8963daa95b2bcc31b8bc7c32f4de5ac595ef95a"


def test_a_request_is_called_by_method_host_and_path():
    assert canonical(request(path="/v1/chat?key=1")).name == "POST api.example/v1/chat"


TEXT = st.text(max_size=12)


@given(
    TEXT,
    TEXT,
    TEXT,
    st.lists(st.tuples(st.binary(max_size=12), st.binary(max_size=12)), max_size=4),
    st.binary(max_size=60),
)
def test_any_request_has_a_key(method, host, path, raw, body):
    event = LlmRequest(host, method, path, {}, body, raw_headers=tuple(raw))
    rules = Rules({"abc": "NAME"})
    assert canonical(event, rules).key == canonical(event, rules).key


KINDS = st.sampled_from(
    ["application/json", "text/plain", "multipart/x; boundary=b", "application/x-www-form-urlencoded", ""]
)
CODINGS = st.sampled_from(["gzip", "br", "zstd", "deflate", "aws-chunked", "", "gzip, br"])


@given(KINDS, CODINGS, st.binary(max_size=80) | st.text('{}[]":,a1-b\r\n=&%', max_size=60).map(str.encode))
def test_any_body_of_any_type_has_a_key(kind, coding, body):
    assert len(key(body, ("content-type", kind), ("content-encoding", coding))) == 32


def signed_at(monkeypatch, when, signer, body=b"{}", key="AKIAHARK0000EXAMPLE0"):
    """Return the key of a request as botocore signs it at a moment."""
    monkeypatch.setattr(auth, "get_current_datetime", lambda *_, **__: when)
    request = AWSRequest(
        "POST", "https://api.example/model?a=b", data=body, headers={"content-type": "application/json"}
    )
    signer(Credentials(key, "s" * 40), "bedrock", "us-east-1").add_auth(request)
    found = request.prepare()
    path = found.url.removeprefix("https://api.example")
    raw = tuple(
        (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in found.headers.items()
    )
    return canonical(LlmRequest("api.example", "POST", path, {}, body, raw_headers=raw)).key


@pytest.mark.parametrize(
    "signer", [auth.SigV4Auth, auth.SigV4QueryAuth, auth.S3SigV4Auth, auth.S3SigV4QueryAuth]
)
def test_what_botocore_signs_at_two_moments_is_one_request(monkeypatch, signer):
    first, later = (datetime.datetime(2026, 1, day, 3, 4, 5) for day in (2, 9))  # noqa: DTZ001  # as botocore has it
    one = signed_at(monkeypatch, first, signer)
    assert one == signed_at(monkeypatch, later, signer)
    assert one != signed_at(monkeypatch, later, signer, key="AKIAHARK0000EXAMPLE1")
    assert one != signed_at(monkeypatch, later, signer, body=b"[]")


def test_what_urllib3_sends_in_parts_has_one_key_for_all_boundaries():
    def sent(content):
        body, kind = encode_multipart_formdata({"purpose": "x", "file": ("a.bin", content)})
        return key(body, ("content-type", kind)), kind

    (one, boundary), (same, another) = sent(b"--abc\r\n\x00"), sent(b"--abc\r\n\x00")
    assert boundary != another
    assert one == same
    assert one != sent(b"--abc\r\n\x01")[0]
