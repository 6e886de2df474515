"""`hark diff` as a user runs it."""

import json

from hark.bundle import events as ev
from tests.hark.cli import sample
from tests.hark.cli.program import hark


def pair(tmp_path, change):
    one = sample.write(tmp_path / "a.hark")
    other = sample.write(tmp_path / "b.hark", tuple(map(change, sample.EVENTS)))
    return one, other


def another(event):
    return event._replace(data=b"\xff\x01binary") if isinstance(event, ev.LlmResponseChunk) else event


def test_equal_bundles_print_that_they_are_and_nothing_else(tmp_path):
    one, other = pair(tmp_path, lambda event: event)
    assert hark("diff", one, other) == (0, "equal, 5 actions\n", "")


def test_one_changed_byte_is_found_and_the_rest_is_folded(tmp_path):
    code, out, err = hark("diff", *pair(tmp_path, another))
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert "~ request POST api.example/v1/chat  (event 4 of A, event 4 of B)" in lines
    assert any(line.strip().startswith("answer differs at byte 1") for line in lines)
    assert lines[-1] == "different: 4 equal, 1 changed, 0 removed, 0 added"
    assert out.replace("\n", "").isprintable()


def test_the_same_as_json(tmp_path):
    code, out, _ = hark("diff", "-json", *pair(tmp_path, another))
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert records[0]["type"] == "bundles"
    (changed,) = [record for record in records if record["type"] == "changed"]
    assert (changed["a"], changed["b"]) == (4, 4)
    assert changed["differences"][0]["where"] == "answer"
    assert records[-1] == {"type": "sums", "same": False, "equal": 4, "changed": 1, "removed": 0, "added": 0}


def test_what_one_run_has_alone_is_added_or_removed(tmp_path):
    one = sample.write(tmp_path / "a.hark")
    other = sample.write(
        tmp_path / "b.hark", tuple(e for e in sample.EVENTS if not isinstance(e, ev.DnsDecision))
    )
    assert "\n- denied name evil.example  (event 3 of A)\n" in hark("diff", one, other).out
    assert "\n+ denied name evil.example  (event 3 of B)\n" in hark("diff", other, one).out


def test_a_bundle_that_breaks_off_is_equal_as_far_as_it_goes(tmp_path):
    one = sample.write(tmp_path / "a.hark")
    sample.opened(tmp_path / "b.hark").close()
    assert hark("diff", one, tmp_path / "b.hark")[:2] == (3, "equal, 5 actions; B breaks off\n")


def test_what_was_taken_out_of_a_bundle_is_counted(tmp_path):
    one, copy = sample.write(tmp_path / "a.hark"), tmp_path / "b.hark"
    for words, told in (("-seq 1", "1 event was"), ("-seq 1 -seq 2", "2 events were")):
        hark("redact", *words.split(), "-o", copy, one)
        assert hark("diff", one, copy).out.endswith(f"; {told} taken out of B, and not compared\n")
        copy.unlink()


def test_a_broken_bundle_is_refused_and_a_missing_one_is_usage(tmp_path):
    one, other = pair(tmp_path, another)
    other.write_bytes(other.read_bytes().replace(b"binary", b"bINary"))
    code, out, err = hark("diff", one, other)
    assert (code, out) == (1, "")
    assert "does not verify: BROKEN" in err
    assert hark("diff", one, tmp_path / "none.hark").code == 2
