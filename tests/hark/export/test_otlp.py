"""A run as a trace: every line of the published schema, every name of its conventions or of hark's own."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.export import otlp
from hark.unchanged import Unchanged
from hark.verify.steps import verify
from tests.hark.export.otlp import about, parsed, schemas, spans, unknown
from tests.hark.report.story import EVIL, PAGE, events
from tests.support.recordings import RUN, STARTED, bundle

TOOL = [
    ev.ToolCallRequest("files", "read_file", b'{"path": "/hidden"}', exchange=7),
    ev.ToolCallResult("files", "read_file", b'{"content": "hidden"}', exchange=7),
    ev.ToolCallRequest("files", "read_file", b"{}", exchange=8),
    ev.ToolCallResult("files", "read_file", b"{}", is_error=True, exchange=8),
    ev.ToolCallRequest("files", "write_file", b"{}", exchange=9),
]


def lines(path: Path, *happened: Any, content: bool = False, **changes: Any) -> list[str]:
    name = bundle(path, *happened, **changes)
    result = verify(name)
    return list(otlp.lines(Unchanged(name, result).frames(), result, content=content))


def named(found: list[Span]) -> Iterator[tuple[str, int]]:
    for span in found:
        yield span.name, about(span).get("hark.event", -1)


def test_a_run_is_one_trace_in_which_every_span_is_the_runs(tmp_path: Path) -> None:
    written = lines(tmp_path / "run.hark", *events(), *TOOL)
    found = spans(written)
    assert list(named(found)) == [
        ("GET", 4), ("chat large", 8), ("chat large", 13), ("tools/call read_file", 16),
        ("tools/call read_file", 18), ("tools/call write_file", 20), ("hark run", -1),
    ]  # fmt: skip
    *inner, run = found
    assert {span.trace_id for span in found} == {run.trace_id}
    assert {span.parent_span_id for span in inner} == {run.span_id}
    assert run.parent_span_id == b""
    assert len({span.span_id for span in found}) == len(found)
    assert all(
        run.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in inner
    )
    assert all(span.end_time_unix_nano <= run.end_time_unix_nano for span in inner)
    assert (run.start_time_unix_nano, inner[0].start_time_unix_nano) == (STARTED, STARTED + 4000)
    assert (run.kind, inner[0].kind) == (Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_CLIENT)


def test_the_same_bundle_gives_the_same_bytes_and_another_other_identifiers(tmp_path: Path) -> None:
    one = lines(tmp_path / "run.hark", *events())
    assert one == lines(tmp_path / "again.hark", *events())
    other = lines(tmp_path / "other.hark", *events(obeys=False))
    assert not {span.trace_id for span in spans(one)} & {span.trace_id for span in spans(other)}


def test_every_name_is_published_or_harks_own_and_the_version_is_written_in(tmp_path: Path) -> None:
    for content in (False, True):
        for data in parsed(lines(tmp_path / f"{content}.hark", *events(), *TOOL, content=content)):
            for resource in data.resource_spans:
                assert resource.schema_url == otlp.SCHEMA
                assert otlp.SCHEMA in schemas()
                held = [resource.resource, *resource.scope_spans[0].spans]
                held += [event for span in resource.scope_spans[0].spans for event in span.events]
                assert unknown(name for one in held for name in about(one)) == []
    assert unknown(["gen_ai.provider", "http.method.name"]) == [
        "gen_ai.provider",
        "http.method.name",
    ]  # the control


def test_what_was_said_is_there_only_with_content(tmp_path: Path) -> None:
    start = ev.RunStart(run_id=RUN, started_at=STARTED, recorder="hark test", argv=("/bin/agent", "hidden"))
    without = "".join(lines(tmp_path / "a.hark", *events(), *TOOL, start=start))
    for word in (PAGE, EVIL, "hidden", "no such name"):
        assert word not in without
    within = lines(tmp_path / "b.hark", *events(), *TOOL, start=start, content=True)
    for word in (PAGE, EVIL, "hidden", "no such name"):
        assert word in "".join(within)
    (data,) = parsed(within)
    assert about(data.resource_spans[0].resource)["process.command_args"] == ["/bin/agent", "hidden"]
    assert about(data.resource_spans[0].resource)["service.name"] == "agent"
    tool = about(spans(within)[3])
    assert tool["gen_ai.tool.call.arguments"] == '{"path": "/hidden"}'
    assert tool["gen_ai.tool.call.result"] == '{"content": "hidden"}'


def test_denials_and_secrets_are_events_of_the_run(tmp_path: Path) -> None:
    run = spans(lines(tmp_path / "run.hark", *events()))[-1]
    secret = {"server.address": "api.anthropic.com", "hark.secret.name": "secrets.KEY", "hark.event": 7}
    denied = {"dns.question.name": "collect.evil.example", "hark.reason": "it is in no rule"}
    told = [(event.name, about(event)) for event in run.events]
    assert told == [("hark.secret", secret), ("hark.denied", denied | {"hark.event": 12})]
    assert run.dropped_events_count == 0


def test_events_beyond_the_bound_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MAX_EVENTS", 2)
    denied = [ev.DnsDecision(f"{number}.example", allowed=False) for number in range(5)]
    run = spans(lines(tmp_path / "run.hark", *denied))[-1]
    assert (len(run.events), run.dropped_events_count) == (2, 3)


def test_tools_that_failed_or_never_answered_are_told_apart(tmp_path: Path) -> None:
    fine, failed, never, run = spans(lines(tmp_path / "run.hark", *TOOL))
    assert "error.type" not in about(fine)
    assert (about(failed)["error.type"], failed.status.code) == ("tool_error", 2)
    assert (about(never)["error.type"], never.status.message) == ("_OTHER", "it has no result on record")
    assert about(fine)["gen_ai.operation.name"] == "execute_tool"
    assert run.status.code == 0


def test_how_the_run_ended_is_the_runs_own_status(tmp_path: Path) -> None:
    run = spans(lines(tmp_path / "run.hark", end=RunEnd(ended_at=1, reason="exit", exit_code=3)))[-1]
    found = about(run)
    assert (found["process.exit.code"], found["error.type"]) == (3, "exit")
    assert (run.status.code, run.status.message) == (2, "the run ended with exit code 3")
    killed = spans(lines(tmp_path / "b.hark", end=RunEnd(ended_at=1, reason="signal SIGKILL")))[-1]
    assert "process.exit.code" not in about(killed)
    whole = about(spans(lines(tmp_path / "c.hark"))[-1])
    assert (whole["process.exit.code"], whole["hark.verdict"], len(whole["hark.root"])) == (0, "VERIFIED", 64)
    assert "error.type" not in whole


def test_a_record_that_breaks_off_is_a_trace_as_far_as_it_goes(tmp_path: Path) -> None:
    asked = ev.LlmRequest("api.example", "GET", "/x", exchange=1)
    found = spans(lines(tmp_path / "run.hark", asked, end=None, seal=False))
    assert [span.name for span in found] == ["GET", "hark run"]
    assert found[0].status.message == "its end is not on record"
    assert found[1].status.message == "how the run ended is not recorded"


def test_a_fork_is_live_by_the_clock_it_went_live_with(tmp_path: Path) -> None:
    branch = ev.Branch(bytes(range(32)), 4, "response", wall_ns=STARTED * 2, exchange=1)
    found = spans(lines(tmp_path / "fork.hark", branch, ev.LlmRequest("a.example", "GET", "/", exchange=2)))
    assert found[0].start_time_unix_nano == STARTED * 2 + 1000
    told = about(found[-1])
    assert (told["hark.fork.of"], told["hark.fork.event"]) == (bytes(range(32)).hex(), 4)


def test_many_spans_are_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "SPANS_A_LINE", 2)
    written = lines(tmp_path / "run.hark", *events())
    assert [len(spans([line])) for line in written] == [2, 2]
    assert all(line.endswith("\n") and json.loads(line) for line in written)


TEXT, NUMBER = st.text(max_size=9), st.integers(0, 3)
ANY = st.one_of(
    st.builds(
        lambda *of: ev.LlmRequest(of[0], of[1], of[2], {}, of[3], exchange=of[4]),
        TEXT, st.sampled_from(["GET", "POST", "?"]), TEXT, st.binary(max_size=9), NUMBER,
    ),
    st.builds(lambda data, one: ev.LlmResponseChunk(0, data, exchange=one), st.binary(max_size=9), NUMBER),
    st.builds(lambda why, one: ev.LlmResponseEnd(200, error=why, exchange=one), TEXT, NUMBER),
    st.builds(lambda tool, one: ev.ToolCallRequest("s", tool, b"x", exchange=one), TEXT, NUMBER),
    st.builds(lambda tool, one: ev.ToolCallResult("s", tool, b"x", exchange=one), TEXT, NUMBER),
    st.builds(lambda name: ev.DnsDecision(name, allowed=False), TEXT),
)  # fmt: skip


@given(st.lists(ANY, max_size=12))
def test_any_events_make_what_the_schema_takes(happened: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        written = lines(Path(folder) / "run.hark", *happened, content=True)
    begun = sum(isinstance(event, ev.LlmRequest | ev.ToolCallRequest) for event in happened)
    assert len(spans(written)) == begun + 1
