"""A run as actions: what may differ between two runs does not count, and everything else does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.policy.model import ReplayRules
from hark.replay.actions import actions
from hark.replay.canonical import Rules
from hark.replay.diverge import compare
from tests.hark.replay.run import answered, asked, frames, run, websocket
from tests.support.steps import steps


def seen(events, rules=None):
    found = actions(frames(events), *([rules] if rules else []))
    return {name: [action.parts for action in stream] for name, stream in found.actions.items()}


def titles(events):
    return [name.partition("\0")[0] for name in seen(events)]


def test_a_run_has_a_stream_for_each_thing_that_it_did():
    assert sorted(titles(run())) == sorted([
        "name api.example", "denied name evil.example",
        "connection https to api.example port 443, SNI api.example", "denied tcp to 203.0.113.9 port 22",
        "request POST api.example/v1/chat", "request POST api.example/v1/chat",
        "request POST api.example/upload", "request POST api.example/forbidden",
        "request POST api.example/slow", "request POST api.example/broken", "request POST api.example/ws",
        "websocket POST api.example/ws, of the agent", "websocket POST api.example/ws, of the server",
        "tunnel db.example:5432 #1, of the agent", "tunnel db.example:5432 #1, of the server",
        "mcp files #1, of the agent", "mcp files #1, of the server", "tool files read calls",
        "tool files read results", "checkpoint", "file out.txt", "file gone.txt",
        "program /usr/bin/python3", "program /bin/sh", "exit",
    ])  # fmt: skip
    assert len(actions(frames(run()))) == 28
    assert actions(frames(run())).end == RunEnd(9, 0, "exit")


def changed(position, event):
    events = run()
    events[position] = event
    return events


def where(kind, number=0):
    return [at for at, event in enumerate(run()) if type(event) is kind][number]


def test_an_event_of_the_agents_that_is_dropped_is_missed():
    dropped = []
    for at in range(len(run())):
        events = run()
        gone = events.pop(at)
        if seen(events) == seen(run()):
            dropped.append(type(gone).__name__)
    assert dropped == [
        "RunStart", "PolicyLoaded", "EnvSnapshot", "FsManifest", "Determinism", "DnsQuery", "DnsQuery",
        "SecretInjected",
        "LlmResponseChunk", "LlmResponseChunk",  # of a refused request, and of one that was left
        "WebSocketMessage",  # a ping
        "TunnelData",  # of a published port
        "ClockRead", "RandomRead", "Input", "Snapshot", "ShimReport", "Boundary", "TokenSeen", "ResponseHead",
        "ClockLog", "Branch", "Rewritten",
    ]  # fmt: skip


def test_ids_times_words_and_pieces_do_not_count():
    events = run()
    for at, event in enumerate(events):
        if hasattr(event, "exchange") and not isinstance(event, ev.McpMessage):
            events[at] = event._replace(exchange=event.exchange + 70)
        if isinstance(event, ev.EgressDecision | ev.DnsDecision):
            events[at] = event._replace(reason="other words", rule="other")
        if isinstance(event, RunEnd):
            events[at] = event._replace(ended_at=77)
    whole = where(ev.LlmResponseChunk)
    events[whole : whole + 2] = [ev.LlmResponseChunk(0, b"data: hello\n\n", 9, 71)]
    assert seen(events) == seen(run())


def test_allowed_names_and_connections_count_once_and_in_any_order():
    events = run()
    events[9:9] = [*events[5:7], *events[9:11]]
    assert seen(events) == seen(run())
    events = run()
    events[7:9] = [*events[7:9], *events[7:9]]
    assert seen(events) != seen(run())


def test_requests_of_one_key_count_in_order_and_of_two_keys_in_any():
    one, two = [asked(1, b"a"), *answered(1, b"1")], [asked(2, b"a"), *answered(2, b"2")]
    other = [asked(3, b"b"), *answered(3, b"3")]
    assert seen([*one, *two, *other]) == seen([*other, *one, *two])
    assert seen([*one, *two]) != seen([*two, *one])


def test_two_answers_that_are_swapped_are_seen():
    assert seen([asked(1, b"a"), *answered(1, b"1"), asked(2, b"b"), *answered(2, b"2")]) != seen(
        [asked(1, b"a"), *answered(1, b"2"), asked(2, b"b"), *answered(2, b"1")]
    )


def test_the_occurrence_of_a_request_is_where_it_was_asked_and_not_where_it_was_answered():
    one, two = answered(1, b"1"), answered(2, b"2")
    assert seen([asked(1, b"a"), asked(2, b"a"), *two, *one]) == seen(
        [asked(1, b"a"), asked(2, b"a"), *one, *two]
    )


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (ev.LlmRequest, {"body": b'{"messages":[{"content":"Say hellO."}]}'}),
        (ev.LlmResponseChunk, {"data": b"data: hem"}),
        (ev.LlmResponseEnd, {"status": 201}),
        (ev.Interim, {"status": 102}),
        (ev.RequestChunk, {"data": b"abd"}),
        (ev.Trailers, {"raw_headers": ()}),
        (ev.WebSocketMessage, {"data": b'{"id": 2}'}),
        (ev.WebSocketMessage, {"type": "binary"}),
        (ev.McpMessage, {"data": b'{"method": "other"}'}),
        (ev.McpMessage, {"note": "refused: no"}),
        (ev.ToolCallRequest, {"arguments": b'{"path": "b"}'}),
        (ev.ToolCallResult, {"is_error": True}),
        (ev.Checkpoint, {"state_hash": b"d"}),
        (ev.FileResult, {"mode": 0o755}),
        (ev.FileResult, {"hash": b"x" * 32}),
        (RunEnd, {"exit_code": 1}),
        (RunEnd, {"reason": "signal SIGKILL"}),
        (RunEnd, {"reason": "never-started: not found"}),
    ],
)
def test_one_thing_that_differs_is_seen(kind, change):
    at = where(kind)
    assert seen(changed(at, run()[at]._replace(**change))) != seen(run())


DATED = (
    *("__pycache__/calc.cpython-313.pyc", ".git/index", "sub/.git/index", ".mypy_cache/3.13/a.meta.json"),
    *("sub/.ruff_cache/0.14/1", ".git/worktrees/w/index", ".git/modules/a/b/index"),
)
UNDATED = (
    *(
        "a.py",
        "index",
        "x.git/index",
        "git/index",
        "mypy_cache/x",
        ".git/refs/heads/index",
        ".git/objects/ab/cd",
    ),
    *(".git/modules/a/refs/heads/index", ".git/logs/HEAD"),
)


@pytest.mark.parametrize("path", DATED)
def test_a_file_that_holds_the_dates_of_others_counts_by_its_presence_and_mode(path):
    def left(content, mode=0o644):
        return seen([*run()[:1], ev.FileResult(path, mode, content)])

    assert left(b"a" * 32) == left(b"b" * 32)
    assert left(b"a" * 32) != left(b"")
    assert left(b"a" * 32) != left(b"a" * 32, 0o755)


@pytest.mark.parametrize("path", UNDATED)
def test_a_file_that_is_only_called_alike_counts_by_its_content(path):
    first, second = ([*run()[:1], ev.FileResult(path, 0o644, content * 32)] for content in (b"a", b"b"))
    assert seen(first) != seen(second)


def test_json_in_a_message_counts_by_value():
    at = where(ev.WebSocketMessage)
    assert seen(changed(at, run()[at]._replace(data=b'{ "id":1.0 }'))) == seen(run())


def test_a_stream_that_breaks_off_counts_as_far_as_it_went_but_not_what_an_agent_that_left_was_sent():
    def of(theirs, error):
        pieces = [
            ev.WebSocketMessage(1, seq, side, "stream", data, more=True)
            for seq, (side, data) in enumerate(((True, b"mine"), (False, theirs)))
        ]
        return seen([asked(1, b""), *pieces, ev.LlmResponseEnd(status=101, error=error, exchange=1)])

    assert of(b"a", "the server reset the connection") != of(b"ab", "the server reset the connection")
    left = of(b"a", ev.AGENT_LEFT)
    assert left == of(b"ab", ev.AGENT_LEFT)
    assert any(name.startswith("websocket") and "of the agent" in name for name in left)


def test_a_placeholder_counts_by_its_name_in_messages_too():
    def said(placeholder):
        return [asked(1, b""), *websocket(1, (True, "text", placeholder))], Rules(
            {placeholder.decode(): "KEY"}
        )

    assert seen(*said(b"sk-hark-one-111")) == seen(*said(b"sk-hark-two-222"))
    assert seen(said(b"sk-hark-one-111")[0]) != seen(said(b"sk-hark-two-222")[0])


def test_bytes_of_a_tunnel_count_joined_and_what_was_refused_does_not():
    def tunnel(*pieces, error="", last=b""):
        first = ev.TunnelData(1, 0, True, host="db.example:5432")
        return [
            first,
            *(ev.TunnelData(1, 0, True, piece) for piece in pieces),
            ev.TunnelData(1, 1, True, last, end=True, error=error),
        ]

    assert seen(tunnel(b"a", b"bc")) == seen(tunnel(b"ab", b"c")) != seen(tunnel(b"ab"))
    assert seen(tunnel(b"a", error="refused: x", last=b"k")) == seen(tunnel(b"a", error="refused: y"))
    assert seen(tunnel(b"a", error="reset")) != seen(tunnel(b"a"))


def test_what_never_ended_is_an_action_that_did_not_end():
    assert [parts for stream in seen([asked(1, b"a")]).values() for parts in stream] == [
        (("outcome", b"never ended"),)
    ]
    ((parts,),) = seen([ev.TunnelData(1, 0, True, host="h:1")]).values()
    assert dict(parts)["outcome"] == b"never ended"


def test_an_event_of_a_kind_that_nobody_knows_counts_by_its_bytes():
    assert seen([ev.Unknown(200, b"a")]) != seen([ev.Unknown(200, b"b")])


EVENTS = st.lists(st.sampled_from(run()), max_size=25)


@given(EVENTS)
def test_any_events_in_any_order_are_actions(events):
    assert seen(events) == seen(events)


@given(
    st.lists(st.tuples(st.sampled_from([kind.number for kind in ev.KINDS]), st.integers(0, 3)), max_size=20)
)
def test_events_with_nothing_in_them_are_actions(kinds):
    by_number = {kind.number: kind.event for kind in ev.KINDS}
    events = [by_number[number]() for number, _ in kinds]
    events = [
        event._replace(exchange=number) if hasattr(event, "exchange") else event
        for event, (_, number) in zip(events, kinds, strict=True)
    ]
    assert seen(events) == seen(events)


def test_a_number_that_stands_for_two_exchanges_hides_neither():
    twice = [asked(1, b"a"), asked(1, b"b"), *answered(1, b"1")]
    assert [dict(parts)["outcome"] for (parts,) in seen(twice).values()] == [b"never ended", b"whole"]


def test_what_is_ignored_in_a_message_is_ignored_in_the_call_that_it_makes():
    rules = Rules.of({}, ReplayRules(ignore_messages=("$.id", "$.params.arguments.trace")))

    def told(number):
        call = {"id": number, "params": {"arguments": {"trace": number, "a": 1}}}
        return frames(
            [
                ev.McpMessage("tool", 1, 0, from_agent=True, data=json.dumps(call).encode()),
                ev.ToolCallRequest(
                    "tool", "look", json.dumps(call["params"]["arguments"]).encode(), exchange=2
                ),
            ]
        )

    assert compare(actions(told(1), rules), actions(told(2), rules)).first is None
    assert compare(actions(told(1)), actions(told(2))).first is not None


@pytest.mark.attack
@pytest.mark.parametrize(
    "made",
    [
        lambda n: ev.FsManifest({"/bin/sh": n.to_bytes(32)}, "programs"),
        lambda n: ev.EgressAttempt("a.example", n, "tcp") if n % 4 < 2 else ev.EgressDecision("a.example"),
    ],
)
def test_four_times_as_many_events_are_four_times_the_work(made):
    few, many = (steps(lambda n=count: seen(list(map(made, range(n))))) for count in (100, 400))
    assert few > 100
    assert many < few * 6
