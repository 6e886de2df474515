"""`-model` and `-set` change live requests that they apply to, and no other byte."""

import gzip
import json

import pytest

from hark.errors import ForkError
from hark.patch.apply import Sent
from hark.patch.rewrite import Rewrites, read_model, read_set, rewritten

CHAT = "/v1/chat/completions"
TYPE = (b"Content-Type", b"application/json")


def sent(body, path=CHAT, host="api.openai.com", method="POST", headers=(TYPE,)):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    length = (b"Content-Length", str(len(data)).encode())
    return Sent(method, host, path, (*headers, length), data)


MODEL = Rewrites(model="other-1")


@pytest.mark.parametrize(
    ("host", "path"),
    [("api.openai.com", CHAT), ("api.openai.com", "/v1/responses"), ("api.anthropic.com", "/v1/messages"),
     ("llm.internal.example:8443", "/proxy/v1/chat/completions")],
)  # fmt: skip
def test_the_model_is_set_where_a_model_is_asked(host, path):
    asked = sent(b'{"model" : "first",  "temperature":1.0}', path, host)
    made = rewritten(MODEL, asked)
    assert made.body == b'{"model" : "other-1",  "temperature":1.0}'
    assert dict(made.headers)[b"Content-Length"] == str(len(made.body)).encode()
    assert (made.method, made.host, made.path) == (asked.method, asked.host, asked.path)


def test_of_gemini_the_model_stands_in_the_path():
    asked = sent({"contents": []}, "/v1beta/models/gemini-2:streamGenerateContent?alt=sse", "g.example")
    made = rewritten(MODEL, asked)
    assert made.path == "/v1beta/models/other-1:streamGenerateContent?alt=sse"
    assert (made.body, made.headers) == (asked.body, asked.headers)
    assert rewritten(Rewrites(model="a/b?c#d\\1"), asked).path.startswith("/v1beta/models/a%2Fb%3Fc%23d%5C1:")


@pytest.mark.parametrize(
    "asked",
    [
        sent({"model": "first"}, "/v1/things"),
        sent({"model": "first"}, "/v1/messages", "sms.example"),
        sent({"model": "other-1"}),
        sent({"messages": []}),
        sent({"model": 5}),
        sent(b"no json"),
        sent(b""),
        sent({"model": "first"}, method="GET"),
        sent([{"model": "first"}]),
        sent(b"\x1f\x8bdamaged", headers=(TYPE, (b"content-encoding", b"gzip"))),
    ],
)
def test_what_asks_no_model_is_left_alone(asked):
    assert rewritten(MODEL, asked) is None


def test_a_packed_request_is_sent_as_it_is_read():
    asked = sent(gzip.compress(b'{"model":"first"}'), headers=(TYPE, (b"Content-Encoding", b"gzip")))
    made = rewritten(MODEL, asked)
    assert made.body == b'{"model":"other-1"}'
    assert dict(made.headers) == {b"Content-Type": b"application/json", b"Content-Length": b"19"}


def test_a_value_is_set_in_what_asks_a_model_and_elsewhere_where_one_is():
    rewrites = Rewrites(sets=(read_set("/temperature=0"), read_set("/stop=end now")))
    made = rewritten(rewrites, sent({"model": "first", "temperature": 1}))
    assert json.loads(made.body) == {"model": "first", "temperature": 0, "stop": "end now"}
    made = rewritten(rewrites, sent({"temperature": 1}, "/weather"))
    assert json.loads(made.body) == {"temperature": 0}
    assert rewritten(rewrites, sent({"a": 1}, "/weather")) is None
    assert rewritten(Rewrites(sets=(("/a/b/c", 1),)), sent({"a": {}})) is None


def test_model_and_values_go_together():
    made = rewritten(Rewrites("other-1", (("/n", [1]),)), sent({"model": "first"}))
    assert json.loads(made.body) == {"model": "other-1", "n": [1]}


def test_a_setting_is_json_or_else_a_text():
    assert read_set("/a=1") == ("/a", 1)
    assert read_set('/a="1"') == ("/a", "1")
    assert read_set("/a=b=c") == ("/a", "b=c")
    assert read_set("/a=") == ("/a", "")
    assert read_set('/a~1b={"c":[]}') == ("/a~1b", {"c": []})


@pytest.mark.parametrize("text", ["", "=1", "/a", "a=1", "/a~2=1", "/a=\udcff"])
def test_what_is_no_setting_is_an_error(text):
    with pytest.raises(ForkError, match="-set"):
        read_set(text)


def test_a_model_has_a_name_of_one_word():
    assert read_model("gpt-5:free/x") == "gpt-5:free/x"
    for name in ("", "two words", "ü", "a\n", "x" * 201):
        with pytest.raises(ForkError, match="-model"):
            read_model(name)
