"""`-at` names one exchange and a side, or says what would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import events as ev
from hark.errors import ForkError
from hark.patch.where import Side, answers, find
from hark.replay.recorded import Frame

MODEL = "api.model.example"


def frames(*events, first=0):
    return [Frame(first + at, 1000 * at, event) for at, event in enumerate(events)]


def exchange(number, path="/v1/messages", host=MODEL, status=200):
    return [
        ev.LlmRequest(host=host, method="POST", path=path, exchange=number),
        ev.ResponseHead(exchange=number, status=status),
        ev.LlmResponseChunk(exchange=number, data=b"x"),
        ev.LlmResponseEnd(exchange=number, status=status),
    ]


RUN = frames(
    ev.PolicyLoaded("p"),
    ev.DnsQuery(MODEL),
    *exchange(1),  # 2 to 5
    ev.DnsDecision(MODEL),
    *exchange(2, "/page?q=1", "briefing.example"),  # 7 to 10
    ev.EgressDecision(MODEL),
    *exchange(3),  # 12 to 15
    ev.Checkpoint("end"),
)


@pytest.mark.parametrize(
    ("spec", "side", "request_", "at"),
    [
        ("2", Side.REQUEST, 2, 2),
        ("3", Side.RESPONSE, 2, 3),
        ("4", Side.RESPONSE, 2, 3),
        ("5", Side.RESPONSE, 2, 3),
        ("15", Side.RESPONSE, 12, 13),
        ("last-request", Side.REQUEST, 12, 12),
        (f"{MODEL}/v1/messages", Side.REQUEST, 2, 2),
        (f"{MODEL}/v1/messages#1", Side.REQUEST, 2, 2),
        (f"{MODEL}/v1/messages#2", Side.REQUEST, 12, 12),
        (f"https://{MODEL}/v1/messages#2", Side.REQUEST, 12, 12),
        ("briefing.example/page", Side.REQUEST, 7, 7),
        ("briefing.example/page?q=1", Side.REQUEST, 7, 7),
    ],
)
def test_a_point_is_found_by_its_number_or_name(spec, side, request_, at):
    point = find(spec, RUN, None)
    assert (point.side, point.request, point.at) == (side, request_, at)
    assert point.words.startswith("POST ")
    assert point.words.endswith(f"(event {request_})")


def test_what_a_patch_says_of_the_side_comes_before_the_event():
    assert find("3", RUN, Side.REQUEST).at == 2
    assert find("2", RUN, Side.RESPONSE).at == 3
    assert find("last-request", RUN, Side.RESPONSE).at == 13
    assert find("last-request", RUN, None, otherwise=Side.RESPONSE).at == 13
    assert find("2", RUN, None, otherwise=Side.RESPONSE).at == 2


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("6", "event 6 belongs to no request; nearest are event 5 before it, of POST"),
        ("6", "and event 7 after it, of POST briefing.example/page?q=1 (event 7)"),
        ("0", "event 0 belongs to no request; nearest is event 2 after it, of POST"),
        ("16", "event 16 belongs to no request; nearest is event 15 before it, of POST"),
        ("99", "event 99 is not in the bundle, whose last event is 16; nearest is event 15 before it"),
        (
            f"{MODEL}/v1/message",
            f"no request to {MODEL}/v1/message was recorded; nearest are {MODEL}/v1/messages (event 2)",
        ),
        (f"{MODEL}/v1/messages#3", "requested 2 times, last as #2 (event 12); there is no #3"),
        (f"{MODEL}/v1/messages#0", "there is no #0"),
        ("briefing.example/page#2", "requested once; there is no #2"),
        ("", 'no request to "" was recorded'),
        ("-1", "no request to -1 was recorded"),
        ("wholly/other", f"{MODEL}/v1/messages (event 2)"),
    ],
)
def test_what_is_not_there_is_an_error_with_the_nearest(spec, words):
    with pytest.raises(ForkError) as error:
        find(spec, RUN, None)
    assert words in str(error.value)
    assert error.value.exit_code == 2


def test_a_run_without_requests_has_no_point():
    with pytest.raises(ForkError, match="no request in it"):
        find("1", frames(ev.PolicyLoaded("p")), None)


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([ev.LlmResponseEnd(exchange=1, status=403, error=f"{ev.REFUSED}not allowed")], "policy refused it"),
        ([ev.ResponseHead(exchange=1, status=101)], "WebSocket"),
        (
            [ev.BodyHash(exchange=1, from_agent=False), ev.LlmResponseEnd(exchange=1, status=200)],
            "hash alone",
        ),
        ([], "nothing of its answer was recorded"),
    ],
)
def test_an_answer_that_is_not_there_is_no_point_and_its_request_is(events, why):
    run = frames(ev.LlmRequest(host=MODEL, method="GET", path="/", exchange=1), *events)
    with pytest.raises(ForkError) as error:
        find("0", run, Side.RESPONSE)
    assert why in str(error.value)
    assert "-at 0" in str(error.value)
    assert find("0", run, None).request == 0


def test_pieces_of_a_request_are_of_its_side():
    run = frames(
        ev.LlmRequest(host=MODEL, method="POST", path="/", exchange=1, streaming=True),
        ev.RequestChunk(exchange=1, data=b"a"),
        ev.Interim(exchange=1, status=103),
        ev.Trailers(exchange=1, from_agent=True),
        ev.ResponseHead(exchange=1, status=200),
        ev.Trailers(exchange=1, from_agent=False),
    )
    sides = [find(str(at), run, None).side.value for at in range(6)]
    assert sides == ["request", "request", "response", "request", "response", "response"]
    assert find("4", run, None).at == 2


def test_names_that_a_terminal_would_act_on_are_shown():
    run = frames(ev.LlmRequest(host="evil\x1b[31m.example", method="GET", path="/", exchange=1))
    assert "\x1b" not in find("0", run, None).words
    with pytest.raises(ForkError) as error:
        find("evil", run, None)
    assert "\x1b" not in str(error.value)


def test_a_second_request_of_one_number_changes_nothing():
    run = frames(*exchange(1), ev.LlmRequest(host="other.example", method="GET", path="/", exchange=1))
    assert find("last-request", run, None).request == 0


@given(st.text(max_size=40), st.sampled_from([None, *Side]))
def test_any_words_give_a_point_or_a_sentence(spec, on):
    try:
        found = find(spec, RUN, on).request
    except ForkError as error:
        found = str(error)
    assert found in (2, 7, 12) or len(found) > 20


def test_a_thousand_long_paths_are_compared_in_no_time():
    paths = ["/" + "a" * 60_000 + str(number) for number in range(1000)]
    run = frames(*(ev.LlmRequest(host=MODEL, path=path, exchange=n) for n, path in enumerate(paths)))
    with pytest.raises(ForkError):
        find("b" * 60_000, run, None)


NOTES = [
    ev.McpMessage("notes", 1, 0, from_agent=True, data=b"{}"),
    ev.ToolCallRequest("notes", "echo", b"{}", exchange=7),
    ev.McpMessage("notes", 1, 1, from_agent=False, data=b"{}"),
    ev.ToolCallResult("notes", "echo", b"{}", is_error=False, exchange=7),
]


def test_a_tool_call_is_found_by_its_name_on_either_side():
    run = [*RUN, *frames(*NOTES, *NOTES, first=17)]
    call, result = find("mcp.notes/echo#2", run, None), find("mcp.notes/echo", run, Side.RESPONSE)
    assert (call.at, call.request, call.side) == (22, 21, Side.REQUEST)
    assert (result.at, result.request, result.side) == (19, 17, Side.RESPONSE)
    assert result.place == "the result of mcp.notes/echo (event 19)"
    with pytest.raises(ForkError, match=r"was called 2 times; there is no #3"):
        find("mcp.notes/echo#3", run, None)
    for events in (run, frames(*NOTES)):
        with pytest.raises(ForkError, match=r"no call of mcp.notes/ecco .* nearest is mcp.notes/echo"):
            find("mcp.notes/ecco", events, None)


def test_a_bundle_of_tool_calls_alone_names_one():
    with pytest.raises(ForkError, match=r"but for its tool calls, such as -at mcp.notes/echo"):
        find("last-request", frames(*NOTES), None)


def test_all_answers_are_listed_that_a_fork_can_be_at():
    refused = ev.LlmRequest(host=MODEL, method="POST", path="/pay", exchange=4)
    denied = ev.LlmResponseEnd(exchange=4, status=403, error=f"{ev.REFUSED}paths")
    unanswered = ev.LlmRequest(host=MODEL, method="POST", path="/late", exchange=5)
    points = answers([*RUN, *frames(refused, denied, unanswered, first=17)])
    assert [(point.at, point.request, point.side) for point in points] == [
        (3, 2, Side.RESPONSE),
        (8, 7, Side.RESPONSE),
        (13, 12, Side.RESPONSE),
    ]
    assert answers([]) == []
