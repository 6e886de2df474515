"""Facts of a run, from its events."""

import json

from hark.bisect.facts import DENIED, EXIT, FILE, KEYS, REQUEST, TOOL, Fact, facts
from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.replay.recorded import Frame


def of(*events: object) -> list[Fact]:
    return list(facts(Frame(seq, seq, event) for seq, event in enumerate(events)))


def test_refusals_of_names_connections_requests_and_tools_are_denied() -> None:
    found = of(
        ev.DnsDecision("evil.example", allowed=False, reason="not in allow_hosts"),
        ev.EgressAttempt("203.0.113.9", 80, "http"),
        ev.EgressAttempt("other.example", 443, "tls"),
        ev.EgressDecision("203.0.113.9", allowed=False, reason="no"),
        ev.EgressDecision("other.example", allowed=True),
        ev.LlmRequest("api.example", "POST", "/pay", exchange=1),
        ev.LlmResponseEnd(403, error=f"{ev.REFUSED}paths", exchange=1),
        ev.McpMessage("files", from_agent=True, data=b"{}", note=f"{ev.REFUSED}no such tool"),
    )
    denied = [fact for fact in found if fact.what == DENIED]
    assert [fact.seq for fact in denied] == [0, 3, 5, 7]
    assert [fact.said["host"] for fact in denied] == [
        "evil.example",
        "203.0.113.9",
        "api.example",
        "mcp.files",
    ]
    assert (denied[1].said["port"], denied[1].said["protocol"]) == ("80", "http")


def test_a_request_counts_with_its_whole_body_also_where_it_was_refused_or_never_ended() -> None:
    found = of(
        ev.LlmRequest("a.example", "POST", "/x", body=b"one ", exchange=1),
        ev.RequestChunk(data=b"two", exchange=1),
        ev.LlmResponseEnd(200, exchange=1),
        ev.LlmRequest("b.example", "GET", "/", exchange=2),
    )
    assert found == [
        Fact(
            REQUEST,
            0,
            {"host": "a.example", "method": "POST", "path": "/x", "body": "one two", "status": "200"},
        ),
        Fact(REQUEST, 3, {"host": "b.example", "method": "GET", "path": "/", "body": "", "status": "0"}),
    ]


def test_a_tool_call_is_a_models_or_one_that_reaches_a_server() -> None:
    answer = {"content": [{"type": "tool_use", "id": "1", "name": "send_email", "input": {"to": "x"}}]}
    asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    call = {"method": "tools/call", "params": {"name": "read", "arguments": {"path": "/a"}}}
    found = of(
        ev.LlmRequest("a.example", "POST", "/v1/messages", body=asked, exchange=1),
        ev.LlmResponseChunk(data=json.dumps(answer).encode(), exchange=1),
        ev.LlmResponseEnd(200, exchange=1, raw_headers=((b"content-type", b"application/json"),)),
        ev.McpMessage("files", from_agent=True, data=json.dumps(call).encode()),
        ev.McpMessage("files", from_agent=False, data=json.dumps(call).encode()),
    )
    tools = [fact for fact in found if fact.what == TOOL]
    assert [(fact.seq, fact.said["name"], fact.said["by"]) for fact in tools] == [
        (2, "send_email", "model"),
        (3, "read", "agent"),
    ]
    assert json.loads(tools[0].said["args"]) == {"to": "x"}
    assert tools[1].said["server"] == "files"


def test_files_and_the_exit_code_are_facts_and_every_fact_says_all_its_keys() -> None:
    found = of(ev.FileResult("out.txt"), RunEnd(exit_code=3, reason="exit"))
    assert found == [Fact(FILE, 0, {"path": "out.txt"}), Fact(EXIT, 1, {"code": "3"})]
    assert set(found[0].said) == set(KEYS[FILE])


def test_any_bytes_in_a_message_are_no_call() -> None:
    assert of(ev.McpMessage("s", from_agent=True, data=b"[1]"), ev.McpMessage("s", from_agent=True)) == []
