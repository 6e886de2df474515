"""`hark export` as a person uses it: verified first, written whole or not at all."""

import json

import pytest

from hark.bundle.bounds import RunEnd
from hark.export import otlp
from tests.hark.cli import sample
from tests.hark.cli.program import hark

SEALED = "VERIFIED: the run ended with exit code 3"


def test_every_event_is_a_line_of_jsonl_and_the_verdict_is_said_apart(tmp_path):
    source = sample.write(tmp_path / "a.hark")
    code, out, err = hark("export", "-jsonl", source)
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, [event["seq"] for event in events]) == (0, list(range(len(sample.EVENTS) + 1)))
    assert events[0]["unix_ns"] == sample.CREATED_AT + events[0]["time_ns"]
    assert err.startswith(f"hark: exported from {source}, which is {SEALED}")


def test_an_archive_is_written_to_a_new_file_that_nobody_else_may_read(tmp_path):
    source, out = sample.write(tmp_path / "a.hark"), tmp_path / "run.har"
    code, said, _ = hark("export", "-har", "-o", out, source)
    assert (code, said) == (0, "")
    assert json.loads(out.read_text())["log"]["entries"][0]["_hark"]["event"] == 4
    assert out.stat().st_mode & 0o777 == 0o600
    code, _, err = hark("export", "-har", "-o", out, source)
    assert (code, "exists, and hark overwrites nothing" in err) == (2, True)


def test_a_request_is_a_curl_command(tmp_path):
    code, out, _ = hark("export", "-curl", "4", sample.write(tmp_path / "a.hark"))
    assert (code, out.splitlines()[0]) == (0, "# event 4: POST https://api.example/v1/chat?q=1")
    assert "\ncurl --globoff" in out


@pytest.mark.parametrize("form", [["-har"], ["-jsonl"], ["-otlp"], ["-curl", "4"]])
def test_nothing_is_exported_from_a_broken_bundle(tmp_path, form):
    source, out = sample.write(tmp_path / "a.hark"), tmp_path / "out"
    source.write_bytes(source.read_bytes().replace(b"192.0.2.7", b"192.0.2.8", 1))
    code, said, err = hark("export", *form, "-o", out, source)
    assert (code, said) == (1, "")
    assert err.startswith("hark: nothing is exported from a bundle that does not verify: BROKEN: event 5")
    assert not out.exists()


def test_a_key_that_did_not_sign_is_not_enough(tmp_path):
    source = sample.write(tmp_path / "a.hark")
    assert hark("export", "-jsonl", "-key", sample.KEY.public_key.hex(), source).code == 0
    code, _, err = hark("export", "-jsonl", "-key", "ab" * 32, source)
    assert (code, "REJECTED" in err) == (1, True)


def test_a_bundle_that_breaks_off_is_exported_as_far_as_it_goes_and_ends_with_3(tmp_path):
    sample.opened(tmp_path / "k.hark").close()
    code, out, err = hark("export", "-jsonl", tmp_path / "k.hark")
    assert (code, len(out.splitlines())) == (3, len(sample.EVENTS))
    assert "TRUNCATED" in err


def test_a_payload_that_was_signed_though_it_cannot_be_read_leaves_no_file(tmp_path):
    broken = (*sample.EVENTS[:-1], sample.ev.Unknown(5, b"\xff"), RunEnd(0, 0, "exit"))
    source, out = sample.write(tmp_path / "a.hark", broken), tmp_path / "out"
    code, _, err = hark("export", "-har", "-o", out, source)
    assert (code, "event 11 (LlmRequest) cannot be read" in err) == (1, True)
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "hark export takes exactly one of -har, -jsonl, -otlp, -curl"),
        (["-har", "-jsonl"], "hark export takes exactly one of"),
        (["-curl", "x"], "-curl needs a whole number"),
        (["-curl", "2"], "event 2 (DnsQuery) belongs to no request"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused_in_a_sentence(tmp_path, words, said):
    code, out, err = hark("export", *words, sample.write(tmp_path / "a.hark"))
    assert (code, out, said in err) == (2, "", True)


def test_a_trace_has_what_was_said_only_where_it_is_asked_for(tmp_path):
    source = sample.write(tmp_path / "a.hark")
    code, out, _ = hark("export", "-otlp", source)
    (resource,) = json.loads(out)["resourceSpans"]
    spans = resource["scopeSpans"][0]["spans"]
    assert (code, spans[-1]["name"], resource["schemaUrl"]) == (0, "hark run", otlp.SCHEMA)
    assert "process.command_args" not in out
    assert "process.command_args" in hark("export", "-otlp", "-content", source)[1]
    code, _, err = hark("export", "-har", "-content", source)
    assert (code, "-content goes with -otlp" in err) == (2, True)
