"""Pages are short, plain, and name the next step."""

from hark.policy.decide import Deny
from hark.policy.parse import parse_policy
from mediator.authority import Destination
from mediator.pages import raw_response, refusal, upstream_failure

API = Destination("api.example.test", 8443)


def test_a_refusal_holds_the_line_that_would_allow_it() -> None:
    page = refusal(API, Deny("host api.example.test is not in allow_hosts", "api.example.test:8443")).decode()
    assert page.splitlines()[1] == 'To allow it, add "api.example.test:8443" to allow_hosts in the policy.'


def test_a_refusal_that_no_rule_would_change_names_none() -> None:
    assert refusal(API, Deny("the request names no host", "")).decode() == (
        "hark: not sent to api.example.test:8443: the request names no host.\n"
    )


def test_an_upstream_failure_says_whose_it_is() -> None:
    page = upstream_failure(API, "its certificate does not verify")
    assert page == b"hark: no answer from api.example.test:8443: its certificate does not verify.\n"


def test_a_raw_answer_is_complete_and_last() -> None:
    answer = raw_response("403 Forbidden", b"no\n")
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"content-length: 3\r\nconnection: close\r\n\r\nno\n" in answer


def test_a_refusal_of_a_request_holds_the_table_that_would_allow_it() -> None:
    text = '[[allow]]\nhost = "api.example.test"\nmethods = ["PUT"]'
    page = refusal(API, Deny("allow 1: api.example.test allows GET, not PUT", "", text)).decode()
    table = page.partition("policy:\n")[2]
    assert parse_policy(table.encode(), "page").allow[0].methods == ("PUT",)
