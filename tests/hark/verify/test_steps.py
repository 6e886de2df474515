"""A test for each number of `hark.verify.steps`, which only that step makes pass; then attacks."""

import os
import threading

import pytest

from hark.bundle import frame
from hark.bundle.bounds import RUN_START_KIND, encode_as
from hark.bundle.events import LlmResponseChunk, RunEnd, RunStart, encode
from hark.bundle.hashing import ZERO_HASH, chain_hash, leaf_hash
from hark.bundle.header import Footer, encode_header
from hark.bundle.redact import redact
from hark.bundle.tree_head import sign
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.errors import BundleError
from hark.verify import BROKEN, REJECTED, TRUNCATED, VERIFIED, verify
from hark.verify.limits import NO_HEADER_HASH, NO_START, UNCONTAINED
from tests.hark.bundle.bundles import (
    EVENTS,
    HEADER,
    KEY,
    OTHER_KEY,
    RUN,
    another_writers,
    assemble,
    plain,
    raw_frames,
    sealed,
    write,
)


def found(path, keys=()):
    """The one finding, which must be there. That a bundle made by hand has no footer is another matter."""
    result = verify(str(path), keys)
    assert [finding.verdict for finding in result.findings[1:]] in ([], [TRUNCATED])
    assert result.verdict == result.findings[0].verdict
    return result.findings[0]


def start(**changes):
    payload = encode_as(RUN_START_KIND, EVENTS[0]._replace(**changes))
    return [(1, 0, payload), *plain()[1:]]


def footer_of(mmr, chain, **changes):
    head = sign(KEY, RUN, mmr.count, mmr.root(), 77)
    return Footer(mmr.count, mmr.root(), chain, head)._replace(**changes)


def test_what_hark_writes_verifies_and_so_does_what_another_writer_wrote(tmp_path):
    ours, theirs = write(tmp_path / "a"), another_writers(tmp_path / "b", plain())
    for path in (ours, theirs):
        result = verify(str(path), [KEY.public_key])
        assert (result.verdict, result.exit_code, result.findings) == (VERIFIED, 0, ())
        assert result.pinned
    assert verify(str(ours)).header == HEADER


def test_1_a_file_that_does_not_begin_with_hark_is_no_bundle(tmp_path):
    path = write(tmp_path / "b")
    path.write_bytes(b"HARQ" + path.read_bytes()[4:])
    with pytest.raises(BundleError, match="does not begin with HARK"):
        verify(str(path))


def test_2_a_header_that_is_not_deterministic_cbor_is_no_bundle(tmp_path):
    frames, mmr, chain = raw_frames(plain())
    header = encode_header(HEADER)
    assert header[2] == 0x78
    long_form = header[:2] + b"\x79\x00" + header[3:]
    with pytest.raises(BundleError, match="shortest"):
        verify(str(assemble(tmp_path / "b", long_form, frames, footer_of(mmr, chain))))


def test_3_an_event_that_claims_over_64_mib_is_named(tmp_path):
    frames, _, _ = raw_frames(plain())
    path = assemble(tmp_path / "b", encode_header(HEADER), frames, None, b"\x04\x00\x00\x01\x06" + bytes(90))
    finding = found(path)
    assert (finding.step, finding.verdict, finding.seq, finding.kind) == (3, BROKEN, 5, 6)
    assert "format 1 allows" in finding.words


def test_3_a_file_that_ends_before_its_footer_is_truncated(tmp_path):
    path = assemble(tmp_path / "b", encode_header(HEADER), raw_frames(plain())[0], None)
    result = verify(str(path))
    assert (result.findings[0].step, result.verdict, result.exit_code) == (3, TRUNCATED, 3)


def test_4_a_gap_in_the_sequence_is_a_splice(tmp_path):
    out, chain = b"", ZERO_HASH
    for seq in (0, 1, 3):
        leaf = leaf_hash(seq, 6, b"\xa0")
        out += frame.pack(frame.Frame(6, seq, 0, chain, b"\xa0", leaf))
        chain = chain_hash(chain, leaf)
    finding = found(assemble(tmp_path / "b", encode_header(HEADER), out, None))
    assert (finding.step, finding.verdict, finding.nature, finding.seq) == (4, BROKEN, "splice", 2)
    assert "says that it is event 3" in finding.words


def test_5_an_event_of_another_bundle_is_a_splice(tmp_path):
    ours, theirs = raw_frames(plain())[0], raw_frames([(6, 0, b"\xa1\x01\x00")] * 5)[0]
    with BundleFile(str(assemble(tmp_path / "a", b"\xa0", ours, None))) as file:
        second = [placed.offset for placed in file.frames()][2]
    with BundleFile(str(assemble(tmp_path / "a", b"\xa0", theirs, None))) as file:
        other = [placed.offset for placed in file.frames()][2]
        base = file.first
    spliced = ours[: second - base] + theirs[other - base :]
    path = assemble(tmp_path / "b", encode_header(HEADER), spliced, None)
    finding = found(path)
    assert (finding.step, finding.verdict, finding.nature, finding.seq, finding.kind) == (
        5,
        BROKEN,
        "splice",
        2,
        6,
    )


def test_6_an_edited_payload_is_an_edit_of_that_event(tmp_path):
    path = write(tmp_path / "b")
    path.write_bytes(path.read_bytes().replace(b"evil.example", b"good.example", 1))
    finding = found(path)
    assert (finding.step, finding.verdict, finding.nature, finding.seq) == (6, BROKEN, "edit", 2)
    with BundleFile(str(path)) as file:
        assert finding.offset == list(file.frames())[2].offset
    assert "event 2 (EgressAttempt, at byte" in verify(str(path)).line()


def test_6_a_payload_taken_out_without_leave_is_an_edit(tmp_path):
    redact(str(write(tmp_path / "a")), [2], str(tmp_path / "b"))
    with BundleFile(str(tmp_path / "b")) as file:
        steps = file.walk()
        list(steps)
    (tmp_path / "b").write_bytes((tmp_path / "b").read_bytes()[: steps.at])
    finding = found(tmp_path / "b")
    assert (finding.step, finding.verdict, finding.seq, finding.kind) == (6, BROKEN, 2, 10)


@pytest.mark.parametrize("tail", [b"\x00", b"HARK\x01", b"\xff\xff\xff\xff\x00\x00\x00\x01\xa0"])
def test_7_bytes_after_the_footer_are_broken(tmp_path, tail):
    path = write(tmp_path / "b")
    path.write_bytes(path.read_bytes() + tail)
    finding = found(path)
    assert (finding.step, finding.verdict, finding.nature) == (7, BROKEN, "footer")
    assert "follow the footer" in finding.words


def test_7_a_footer_that_cannot_be_read_is_broken(tmp_path):
    frames = raw_frames(plain())[0]
    finding = found(assemble(tmp_path / "b", b"\xa0", frames, None, b"\xff\xff\xff\xff\x00\x00\x00\x01\x80"))
    assert (finding.step, finding.verdict, finding.nature) == (7, BROKEN, "footer")


@pytest.mark.parametrize(
    "change", [{"leaf_count": 6}, {"root": bytes(32)}, {"final_chain": bytes(32)}], ids=str
)
def test_8_a_footer_over_other_events_is_broken(tmp_path, change):
    finding = found(another_writers(tmp_path / "b", plain(), **change))
    assert (finding.step, finding.verdict, finding.nature) == (8, BROKEN, "footer")


@pytest.mark.parametrize(
    ("redacted", "words"), [((2,), "has its payload"), ((99,), "no such event"), ((2, 99), "has its payload")]
)
def test_9_an_event_listed_as_redacted_that_is_not_is_broken(tmp_path, redacted, words):
    finding = found(another_writers(tmp_path / "b", plain(), redacted=redacted))
    assert (finding.step, finding.verdict) == (9, BROKEN)
    assert words in finding.words


@pytest.mark.parametrize(("seq", "kind"), [(0, "RunStart"), (5, "Seal")])
def test_9_run_start_and_seal_cannot_be_redacted(tmp_path, seq, kind):
    frames, mmr, chain = raw_frames(sealed(plain()))
    with BundleFile(str(assemble(tmp_path / "a", b"\xa0", frames, None))) as file:
        parts = [placed.frame for placed in file.frames()]
    parts[seq] = parts[seq]._replace(payload=b"")
    footer = footer_of(mmr, chain, redacted=(seq,))
    path = assemble(tmp_path / "b", encode_header(HEADER), b"".join(map(frame.pack, parts)), footer)
    finding = found(path)
    assert (finding.step, finding.verdict, finding.seq) == (9, BROKEN, seq)
    assert kind in finding.sentence()


def test_10_another_header_than_run_start_holds_the_hash_of_is_broken(tmp_path):
    path = write(tmp_path / "b")
    path.write_bytes(path.read_bytes().replace(b"p" * 32, b"q" * 32, 1))
    finding = found(path)
    assert (finding.step, finding.verdict) == (10, BROKEN)
    assert "the header was edited" in finding.words


def test_11_a_run_start_of_another_run_is_broken(tmp_path):
    finding = found(another_writers(tmp_path / "b", start(run_id="01J8X0000000000000000OTHER")))
    assert (finding.step, finding.verdict) == (11, BROKEN)


def test_11_a_tree_head_of_another_run_is_broken(tmp_path):
    _, mmr, _ = raw_frames(plain())
    head = sign(KEY, "01J8X0000000000000000OTHER", mmr.count, mmr.root(), 77)
    finding = found(another_writers(tmp_path / "b", plain(), tree_head=head))
    assert (finding.step, finding.verdict, finding.nature) == (11, BROKEN, "footer")


@pytest.mark.parametrize(
    "change",
    [{"frames_hash": bytes(32)}, {"counts": {1: 1}}, {"own_time": 49}],
    ids=["times", "counts", "own time"],
)
def test_12_a_seal_over_other_frames_is_broken(tmp_path, change):
    assert verify(str(another_writers(tmp_path / "a", sealed(plain())))).verdict == VERIFIED
    finding = found(another_writers(tmp_path / "b", sealed(plain(), **change)))
    assert (finding.step, finding.verdict, finding.seq) == (12, BROKEN, 5)


def test_12_the_time_of_any_event_cannot_be_changed(tmp_path):
    path = write(tmp_path / "b")
    data = path.read_bytes()
    with BundleFile(str(path)) as file:
        offsets = [placed.offset for placed in file.frames()]
    for offset in offsets:
        path.write_bytes(data[: offset + 20] + bytes([data[offset + 20] ^ 1]) + data[offset + 21 :])
        assert found(path).step == 12


@pytest.mark.parametrize(
    "events",
    [sealed(plain()) + plain()[1:2], sealed(sealed(plain())), [*sealed(plain())[:-1], (32, 50, b"\xa0")]],
)
def test_12_events_after_a_seal_two_seals_and_an_unreadable_seal_are_broken(tmp_path, events):
    finding = found(another_writers(tmp_path / "b", events))
    assert (finding.step, finding.verdict) == (12, BROKEN)


def test_13_a_signature_over_other_events_is_broken(tmp_path):
    _, mmr, _ = raw_frames(plain())
    good = sign(KEY, RUN, mmr.count, mmr.root(), 77)
    other_root = sign(KEY, RUN, mmr.count, bytes(32), 77)
    for head in (
        other_root,
        sign(KEY, RUN, 99, mmr.root(), 77),
        good._replace(signed_at=78),
        good._replace(signature=bytes(64)),
    ):
        finding = found(another_writers(tmp_path / "b", plain(), tree_head=head))
        assert (finding.step, finding.verdict, finding.nature) == (13, BROKEN, "footer")
        (tmp_path / "b").unlink()


def test_14_another_key_than_the_pinned_one_is_rejected(tmp_path):
    path = write(tmp_path / "b")
    finding = found(path, [OTHER_KEY.public_key])
    assert (finding.step, finding.verdict) == (14, REJECTED)
    assert verify(str(path), [OTHER_KEY.public_key]).exit_code == 1
    assert verify(str(path), [OTHER_KEY.public_key, KEY.public_key]).verdict == VERIFIED


def test_14_an_unsigned_bundle_is_rejected_with_a_pin_and_called_unsigned_without(tmp_path):
    path = write(tmp_path / "b", key=None)
    assert found(path, [KEY.public_key]).step == 14
    result = verify(str(path))
    assert result.verdict == VERIFIED
    assert "unsigned" in result.line()
    assert any("nobody signed it" in limit for limit in result.limits)


def test_14_a_footer_cut_off_does_not_get_around_a_pin(tmp_path):
    path = write(tmp_path / "b")
    os.truncate(path, path.stat().st_size - 5)
    result = verify(str(path), [KEY.public_key])
    assert (result.verdict, result.exit_code) == (REJECTED, 1)
    assert {finding.verdict for finding in result.findings} == {REJECTED, TRUNCATED}


def test_the_first_event_at_fault_is_named_when_there_are_several(tmp_path):
    path = write(tmp_path / "b")
    path.write_bytes(
        path.read_bytes().replace(b"allow_hosts", b"allow_ghost").replace(b"a.example", b"b.example") + b"x"
    )
    result = verify(str(path))
    assert (result.findings[0].seq, result.findings[0].nature) == (1, "edit")


def test_what_another_writer_left_out_is_said_in_words(tmp_path):
    limits = " ".join(verify(str(another_writers(tmp_path / "b", plain()))).limits)
    assert "RunStart holds no hash of it" in limits
    assert "no Seal" in limits
    ours = " ".join(verify(str(write(tmp_path / "a"))).limits)
    assert "no hash of the header" not in ours
    assert "no Seal" not in ours


DEEP = b"\xa1\x01" + b"\x81" * 100 + b"\x01"
UNREAD = [
    pytest.param(DEEP, id="nests"),
    pytest.param(b"0", id="no map"),
    pytest.param(b"\xa1\x03\x05", id="type"),
]


@pytest.mark.parametrize("payload", UNREAD)
@pytest.mark.parametrize(("seq", "kind", "name"), [(0, 1, "RunStart"), (4, 16, "RunEnd")])
def test_step_10_what_bounds_a_sealed_run_can_be_read(tmp_path, payload, seq, kind, name):
    def events(data):
        return [(kind, 10 * at, data) if at == seq else one for at, one in enumerate(plain())]

    finding = found(another_writers(tmp_path / "b", sealed(events(payload))))
    assert (finding.verdict, finding.step) == (BROKEN, 10)
    with BundleFile(str(tmp_path / "b")) as file:
        at = next(one.offset for one in file.frames() if one.frame.seq == seq)
    assert finding.sentence() == f"event {seq} ({name}, at byte {at}): it cannot be read"
    readable = plain()[seq][2]
    assert verify(str(another_writers(tmp_path / "c", sealed(events(readable))))).verdict == VERIFIED


@pytest.mark.parametrize("payload", UNREAD)
def test_a_start_that_cannot_be_read_is_said_where_nothing_was_sealed(tmp_path, payload):
    theirs = another_writers(tmp_path / "b", [(1, 0, payload), *plain()[1:]])
    assert {NO_START, NO_HEADER_HASH} <= set(verify(str(theirs)).limits)
    assert NO_START not in verify(str(another_writers(tmp_path / "c", plain()))).limits


@pytest.mark.parametrize(
    "events",
    [[], [(99, 0, b"anything")], [(1, 0, b"0")], [(1, 0, b"\xf6"), (16, 0, b"\xf6")], [(6, 0, b"")]],
    ids=["none", "unknown kind", "unreadable", "null", "empty payload"],
)
def test_no_payload_needs_to_be_understood(tmp_path, events):
    assert verify(str(another_writers(tmp_path / "b", events))).verdict == VERIFIED


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("never-started: no such file", 'VERIFIED: the run never started ("no such file")'),
        ("recorder-failed", "VERIFIED: the recorder failed"),
        ("signal SIGKILL", "VERIFIED: the run was ended by signal SIGKILL"),
        ("interrupted", "VERIFIED: the run was interrupted"),
        ("\x1b]0;x\x07", 'VERIFIED: the run ended for the reason "\\\\e]0;x'),
    ],
)
def test_how_the_run_ended_stands_in_the_verdict_line(tmp_path, reason, words):
    line = verify(str(write(tmp_path / "b", (EVENTS[0], RunEnd(reason=reason))))).line()
    assert line.startswith(words.replace("\\\\", "\\"))
    assert line.isprintable()


def test_a_run_id_with_terminal_escapes_does_not_reach_the_line(tmp_path):
    header = HEADER._replace(run_id="\x1b[2Jrun")
    with Writer.create(str(tmp_path / "b"), header) as writer:
        writer.append(RunStart(run_id="\x1b[2Jrun"))
        writer.seal("exit")
    assert verify(str(tmp_path / "b")).line().isprintable()


def test_two_readers_of_a_growing_file_see_a_prefix_each_time(tmp_path):
    path, stop, seen = str(tmp_path / "b"), threading.Event(), []

    def follow():
        while not stop.is_set():
            seen.append(verify(path))

    with Writer.create(path, HEADER) as writer:
        writer.append(EVENTS[0])
        threads = [threading.Thread(target=follow) for _ in range(2)]
        for thread in threads:
            thread.start()
        for index in range(400):
            writer.append(LlmResponseChunk(seq=index, data=bytes(index * 5)))
        stop.set()
        for thread in threads:
            thread.join()
        writer.seal("exit", KEY)
    assert {result.verdict for result in seen} == {TRUNCATED}
    assert verify(path, [KEY.public_key]).events == 402


def test_start_of_the_helpers_is_what_another_writer_would_write():
    assert start()[0][2] == encode(EVENTS[0])


def test_the_record_of_a_run_without_a_boundary_says_so_and_one_of_a_boundary_does_not(tmp_path):
    for where in ("", "the test's own process"):
        events = (RunStart(run_id=RUN, uncontained=where), RunEnd(reason="exit"))
        found = verify(str(write(tmp_path / f"{bool(where)}.hark", events)))
        assert (found.uncontained, UNCONTAINED in found.limits) == (where, bool(where))
