"""The exchange of an event, by whichever of its events it is named."""

import pytest

from hark.bundle import events as ev
from hark.errors import UsageError
from hark.export.wanted import wanted
from tests.hark.export.story import ALLOWED, END, INJECTED, PLACEHOLDER, POST, TLS, chunk, frames

RUN = (TLS, ALLOWED, INJECTED, POST, chunk(b"a"), END)


@pytest.mark.parametrize("seq", [7, 8, 9])
def test_any_event_of_an_exchange_names_it(seq):
    exchange, put_in, held = wanted(lambda: frames(*RUN), seq)
    assert (exchange.seq, put_in, held) == (7, {PLACEHOLDER: "MODEL_KEY"}, {})


def test_a_secret_is_put_in_only_where_hark_had_put_it_in():
    named = {PLACEHOLDER: "MODEL_KEY"}
    real = INJECTED._replace(ref="secrets.MODEL_KEY")
    refused = END._replace(error="refused: no rule allows the path")
    assert wanted(lambda: frames(real, POST, END), 5)[1:] == (named, {})
    assert wanted(lambda: frames(real, POST._replace(host="evil.example"), END), 5)[1:] == ({}, named)
    assert wanted(lambda: frames(real, POST, refused), 5)[1:] == ({}, named)


@pytest.mark.parametrize(
    ("seq", "words"),
    [
        (4, r"event 4 \(EgressAttempt\) belongs to no request; `hark inspect -kind LlmRequest` lists"),
        (99, "there is no event 99, the bundle has 11"),
    ],
)
def test_an_event_of_no_exchange_is_a_usage_error_that_says_what_to_do(seq, words):
    with pytest.raises(UsageError, match=words):
        wanted(lambda: frames(*RUN), seq)


def test_a_placeholder_that_was_never_used_is_known_by_the_policy():
    policy = ev.PolicyLoaded(
        "p", raw=b'allow_hosts = ["api.example"]\n[secrets.MODEL_KEY]\nhosts = ["api.example"]\n'
    )
    env = ev.EnvSnapshot({"MODEL_KEY": PLACEHOLDER})
    assert wanted(lambda: frames(policy, env, POST, END), 6).held == {PLACEHOLDER: "MODEL_KEY"}
    assert wanted(lambda: frames(policy._replace(raw=b"]"), env, POST, END), 6).held == {}


def test_an_answer_without_its_request_is_said():
    with pytest.raises(UsageError, match="a request that is not on record"):
        wanted(lambda: frames(END), 4)
