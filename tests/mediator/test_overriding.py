"""What a header would make of a request is judged beside what the request says."""

from dataclasses import replace

import pytest

from hark.policy.model import Body, Policy, Rule, ToolRule
from mediator.judgement import Forward, Refusal, judge
from mediator.overriding import MAX_HEADERS, Meant, meanings, paths_of
from mediator.standing import Standing
from tests.mediator.rig import API, link_to
from tests.mediator.test_judgement import HOST, asked, narrowed

AS_ASKED = Meant("GET", "/a")


def test_a_request_without_such_headers_means_what_it_says() -> None:
    assert meanings(b"GET", b"/a", ((b"accept", b"*/*"),)) == (AS_ASKED,)


def test_every_pair_of_a_method_and_a_path_is_a_meaning() -> None:
    headers = ((b"X-HTTP-Method-Override", b" delete "), (b"x-original-url", b"/b"))
    assert set(meanings(b"GET", b"/a", headers)) == {
        AS_ASKED,
        Meant("DELETE", "/a", "X-HTTP-Method-Override"),
        Meant("GET", "/b", "x-original-url"),
        Meant("DELETE", "/b", "X-HTTP-Method-Override and x-original-url"),
    }


def test_more_such_headers_than_anybody_sends_are_refused() -> None:
    many = tuple((b"x-original-url", b"/%d" % number) for number in range(MAX_HEADERS + 1))
    assert meanings(b"GET", b"/a", many) == ()
    judged = judge(asked(HOST, *many), link_to())
    assert isinstance(judged, Refusal)
    assert "too many" in judged.denied.reason
    assert isinstance(judge(asked(HOST, *many[1:]), link_to()), Forward)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (
            (b"X-HTTP-Method-Override", b"DELETE"),
            "as its header X-HTTP-Method-Override would have it, allow 1",
        ),
        ((b"x-rewrite-url", b"/secret"), "allows /public/**, not /secret"),
        ((b"x-original-url", b"http://api.example.test/public/x"), "does not begin with a slash"),
    ],
)
def test_a_header_that_asks_for_what_no_rule_allows_is_refused(
    header: tuple[bytes, bytes], words: str
) -> None:
    here = narrowed(methods=("GET",), paths=("/public/**",))
    judged = judge(asked(HOST, header, path=b"/public/a"), here)
    assert isinstance(judged, Refusal)
    assert words in judged.denied.reason
    fine = ((b"X-HTTP-Method-Override", b"get"), (b"x-original-url", b"/public/b"))
    assert isinstance(judge(asked(HOST, *fine, path=b"/public/a"), here), Forward)


def test_an_underscore_is_a_dash_to_many_servers() -> None:
    found = meanings(b"GET", b"/", ((b"X_HTTP_Method-Override", b"delete"), (b"x_original_url", b"/admin")))
    assert ("DELETE", "/admin") in {(one.method, one.path) for one in found}
    assert paths_of(b"/", ((b"X_Rewrite_URL", b" /other"), (b"x", b"/no"))) == (b"/", b"/other")


TOOLS = (ToolRule("search"),)
LISTED = (
    Rule(API, name="allow 1", methods=("POST",), paths=("/mcp",), tools=TOOLS),
    Rule(API, name="allow 2", paths=("/oauth/**",)),
    Rule(API, name="allow 3", methods=("GET",), paths=("/mcp",)),
    Rule(API, name="allow 4", paths=("/more",), tools=TOOLS, body=Body.HASH),
)


def by(*headers: tuple[bytes, bytes], **more: bytes) -> Forward | Refusal:
    policy = Policy(allow=LISTED)
    return judge(asked(HOST, *headers, **more), replace(link_to(), standing=Standing(policy)))


@pytest.mark.parametrize(
    ("request_", "header"),
    [
        ({"method": b"POST", "path": b"/oauth/x"}, (b"X-Original-URL", b"/mcp")),
        ({"method": b"POST", "path": b"/mcp"}, (b"X-Rewrite-URL", b"/oauth/x")),
        ({"method": b"GET", "path": b"/mcp"}, (b"X-HTTP-Method-Override", b"POST")),
    ],
)
def test_a_request_that_two_lists_of_tools_may_be_about_is_refused(
    request_: dict[str, bytes], header: tuple[bytes, bytes]
) -> None:
    judged = by(header, **request_)
    assert isinstance(judged, Refusal)
    assert "lists other tools than" in judged.denied.reason
    assert isinstance(by(**request_), Forward)  # the control: without the header it passes


def test_of_one_list_the_narrower_way_of_recording_holds() -> None:
    judged = by((b"X-Original-URL", b"/more"), method=b"POST", path=b"/mcp")
    assert isinstance(judged, Forward)
    assert (judged.tools, judged.body) == (TOOLS, Body.HASH)
    plain = by(method=b"POST", path=b"/mcp")
    assert isinstance(plain, Forward)
    assert plain.body is Body.WHOLE
