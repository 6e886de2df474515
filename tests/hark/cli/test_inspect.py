"""What a bundle holds, on the screen and as JSON, and nothing of it able to act on the screen."""

import json
import os
import pty
import subprocess
import sys
import threading

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import KIND_NAMES
from tests.hark.cli import sample
from tests.hark.cli.program import hark


@pytest.fixture
def bundle(tmp_path):
    return sample.write(tmp_path / "a.hark")


def test_every_event_has_a_line_with_its_columns_aligned(bundle):
    code, out, err = hark("inspect", bundle)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert [int(line[:6]) for line in lines] == list(range(13))
    assert (
        lines[3]
        == "     3       0.005  DnsDecision             DENIED evil.example (no rule allows evil.example)"
    )
    request = 'POST api.example/v1/chat?q=1, 17 bytes: {"a": 1}\\n{"b": 2}'
    assert lines[4] == f"     4       0.006  LlmRequest           1  {request}"
    assert lines[7].endswith("chunk 0, 8 bytes: \\xff\\x00binary")


@pytest.mark.parametrize("words", [[], ["--json"], ["-seq", "6"], ["-seq", "6", "--json"], ["-seq", "8"]])
def test_escapes_and_bidirectional_controls_are_shown_and_never_sent(bundle, words):
    out = hark("inspect", bundle, *words).out
    assert out.replace("\n", "").isprintable()
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_lines_are_cut_to_the_width(bundle):
    out = hark("inspect", bundle, env={"COLUMNS": "90"}).out
    assert max(map(len, out.splitlines())) == 90
    assert out.splitlines()[0].endswith("…")


def test_n_stops_and_kind_selects_by_name_in_any_case_or_by_number(bundle):
    assert len(hark("inspect", bundle, "-n", "2").out.splitlines()) == 2
    assert hark("inspect", bundle, "-n", "0").out == ""
    out = hark("inspect", "-kind", "dnsquery", "--kind=11", bundle).out
    assert [line.split()[0] for line in out.splitlines()] == ["2", "6"]
    assert len(hark("inspect", bundle, "-kind", "11", "-n", "1").out.splitlines()) == 1


def test_an_unknown_kind_names_the_nearest(bundle):
    none = "among those that `hark inspect` prints"
    for name in ("DnsQuerry", "dnsquerry"):
        code, out, err = hark("inspect", "-kind", name, bundle)
        assert (code, out) == (2, "")
        assert err.startswith(f"hark: there is no kind '{name}' {none}; did you mean DnsQuery? (there are: ")
    err = hark("inspect", "-kind", "nosuch", bundle).err
    assert err.startswith(f"hark: there is no kind 'nosuch' {none} (there are: ")
    assert all(name in err for name in KIND_NAMES.values())


def test_a_kind_that_no_byte_holds_is_refused_and_one_that_is_merely_unknown_is_not(bundle):
    for number in ("256", "999", "1000", "9" * 5000):
        said = f"hark: -kind {number}: the number of a kind is at most 255\n"
        assert hark("inspect", "-kind", number, bundle) == (2, "", said)
    assert hark("inspect", "-kind", "255", bundle) == (0, "", "")
    assert len(hark("inspect", "-kind", "200", bundle).out.splitlines()) == 1


def test_seq_shows_every_field_of_one_event(bundle):
    code, out, _ = hark("inspect", "-seq", "8", bundle)
    assert code == 0
    assert out.startswith("event 8  LlmResponseEnd (kind 7)  at 0.011 s\n  leaf hash ")
    assert "  raw_headers  set-cookie: a=1\n               set-cookie: b=\\xff\n" in out
    assert '  body         {"a": 1}\n               {"b": 2}\n' in hark("inspect", "-seq", "4", bundle).out
    assert hark("inspect", "-seq", "13", bundle) == (2, "", f"hark: {bundle} has no event 13\n")


def test_json_has_every_field_and_bytes_as_text_or_hex(bundle):
    records = [json.loads(line) for line in hark("inspect", "--json", bundle).out.splitlines()]
    assert [record["seq"] for record in records] == list(range(13))
    assert records[4]["fields"] == {
        "host": "api.example", "method": "POST", "path": "/v1/chat?q=1",
        "headers": {"content-type": "application/json"}, "body": {"text": '{"a": 1}\n{"b": 2}'},
        "request_key": {"hex": ""}, "occurrence": 0, "streaming": False, "exchange": 1, "raw_headers": [],
        "process": 0,
    }  # fmt: skip
    assert records[7]["fields"]["data"] == {"hex": "ff0062696e617279"}
    assert records[8]["fields"]["raw_headers"][1] == [{"text": "set-cookie"}, {"hex": "623dff"}]
    assert records[6]["fields"]["reason"] == sample.HOSTILE
    assert records[9]["fields"]["value_hash"] == {"hex": "00" * 32}
    assert (records[10]["name"], records[10]["fields"]) == ("kind 200", {"payload": {"hex": "a0"}})
    assert records[7]["exchange"] == 1
    assert "exchange" not in records[3]


def test_seq_with_json_holds_the_payload_that_the_leaf_is_over(bundle):
    from hark.bundle.hashing import leaf_hash

    record = json.loads(hark("inspect", "--json", "-seq", "4", bundle).out)
    assert leaf_hash(4, 5, bytes.fromhex(record["payload"])).hex() == record["leaf_hash"]


def test_a_killed_run_is_shown_as_far_as_it_goes(tmp_path):
    sample.opened(tmp_path / "k.hark").close()
    data = (tmp_path / "k.hark").read_bytes()
    (tmp_path / "k.hark").write_bytes(data[:-5])
    code, out, err = hark("inspect", tmp_path / "k.hark")
    assert (code, len(out.splitlines())) == (3, len(sample.EVENTS) - 1)
    assert err == f"hark: {tmp_path}/k.hark has no seal: its writer was killed. All events above held\n"


def test_a_broken_bundle_is_shown_up_to_the_fault_which_is_named(bundle):
    bundle.write_bytes(bundle.read_bytes().replace(b"192.0.2.7", b"192.0.2.8", 1))
    code, out, err = hark("inspect", bundle)
    assert (code, len(out.splitlines())) == (1, 5)
    fault = "event 5 (EgressAttempt) was edited: its payload does not match its leaf hash"
    assert err == f"hark: {bundle} is broken here: {fault}\n"


def test_a_bundle_that_is_being_written_is_read_and_said_to_go_on(tmp_path):
    with sample.opened(tmp_path / "w.hark"):
        code, out, err = hark("inspect", tmp_path / "w.hark")
    assert (code, len(out.splitlines())) == (0, len(sample.EVENTS))
    assert "still being written" in err


def test_follow_shows_what_is_written_later_and_ends_at_the_seal(tmp_path):
    writer = sample.opened(tmp_path / "w.hark")
    words = [sys.executable, "-m", "hark.cli.main", "inspect", "--follow", "--json", str(tmp_path / "w.hark")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        for _ in sample.EVENTS:
            process.stdout.readline()
        writer.append(ev.DnsQuery("later.example", "A", 1))
        assert json.loads(process.stdout.readline())["fields"]["name"] == "later.example"
        writer.seal("exit")
        writer.close()
        assert json.loads(process.stdout.readline())["name"] == "Seal"
        assert process.stdout.readline() == b""
    assert process.returncode == 0


def test_follow_ends_when_the_writer_is_gone_without_a_seal(tmp_path):
    writer = sample.opened(tmp_path / "w.hark")
    timer = threading.Timer(0.3, writer.close)
    timer.start()
    assert hark("inspect", "-follow", tmp_path / "w.hark").code == 3
    timer.join()


def on_a_terminal(words, env=None):
    """What arrives on a pseudo-terminal."""
    master, slave = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "100", **(env or {})}
    with subprocess.Popen(
        [sys.executable, "-m", "hark.cli.main", *words], stdout=slave, env=environ
    ) as process:
        os.close(slave)
        parts = []
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            parts.append(part)
    os.close(master)
    assert process.returncode == 0
    return b"".join(parts).decode()


def test_a_terminal_gets_colour_and_a_heading_unless_it_asks_for_none(bundle):
    shown = on_a_terminal(["inspect", str(bundle)])
    assert "\x1b[31m     6       0.008  EgressDecision" in shown
    assert "seconds  kind" in shown
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_a_terminal(["inspect", str(bundle)], env)
    assert "\x1b]0;owned" not in shown


def test_the_first_event_of_a_fork_is_shown_with_its_parent(tmp_path, bundle):
    fork = sample.write(tmp_path / "f.hark", lineage=sample.FORK)
    words = f"a fork of the bundle with root {'70' * 32} at its event 24, with the patch {'68' * 32}"
    words = f"by the header: {words}"
    assert words in " ".join(hark("inspect", fork).out.split())
    assert words in " ".join(hark("inspect", fork, "-seq", "0").out.split())
    first, second = hark("inspect", "--json", "-n", "2", fork).out.splitlines()
    assert json.loads(first)["fork"]["fork_point"] == 24
    assert "fork" not in json.loads(second)
    for more in ((), ("-seq", "0"), ("--json",)):
        assert "fork" not in hark("inspect", bundle, *more).out
