"""Live requests are altered by the patch first, then by what is set in all; each as far as it applies."""

import json

from hark.fork.asking import Asking
from hark.patch.apply import Sent
from hark.patch.model import parse_patch
from hark.patch.rewrite import Rewrites
from mediator.playback.altering import Altered

KIND = ((b"content-type", b"application/json"), (b"anthropic-version", b"2023-06-01"))
SENT = Sent("POST", "api.example", "/v1/messages", KIND, b'{"model": "small", "say": "one"}')
PATCH = parse_patch(b'{"replace": "one", "with": "two", "on": "request"}')


def test_the_branch_request_is_patched_and_others_are_not() -> None:
    asking = Asking(SENT, PATCH, Rewrites(), branch=7)
    assert asking.altered(8, SENT) is None
    found = asking.altered(7, SENT)
    assert isinstance(found, Altered)
    assert (json.loads(found.sent.body)["say"], found.why, asking.applied) == ("two", "the patch", True)


def test_both_are_said_and_counted() -> None:
    asking = Asking(SENT, PATCH, Rewrites("large", (("/max_tokens", 5),)), branch=7)
    found = asking.altered(7, SENT)
    assert isinstance(found, Altered)
    assert json.loads(found.sent.body) == {"model": "large", "say": "two", "max_tokens": 5}
    assert found.why == "the patch and -model large, -set /max_tokens"
    assert asking.altered_requests == 1


def test_a_patch_that_matches_nothing_after_all_is_said_and_not_applied() -> None:
    asking = Asking(SENT, parse_patch(b'{"replace": "zero", "with": "x"}'), Rewrites(), branch=7)
    found = asking.altered(7, SENT)
    assert isinstance(found, str)
    assert "does not occur" in found
    assert not asking.applied


def test_only_what_may_be_asked_anew_is_kept_before_the_branch_point() -> None:
    asking = Asking(SENT, PATCH, Rewrites())
    assert asking.may_alter("POST", "api.example", "/v1/messages", live=False)
    assert not asking.may_alter("GET", "api.example", "/v1/messages", live=False)
    assert not asking.may_alter("POST", "api.example", "/v1/messages", live=True)
    assert Asking(None, None, Rewrites("large")).may_alter("GET", "x", "/", live=True)
