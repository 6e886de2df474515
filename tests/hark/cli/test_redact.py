"""A copy without some payloads: everything else still verifies, and what is gone is gone."""

from tests.hark.cli import sample
from tests.hark.cli.program import hark


def test_a_redacted_copy_verifies_says_how_many_and_holds_the_payload_no_more(tmp_path):
    source, out = sample.write(tmp_path / "a.hark"), tmp_path / "r.hark"
    before = source.read_bytes()
    assert hark("redact", source, "-seq", "4", "-seq", "5", "-o", out) == (
        0, f"wrote {out}: 2 events have no payload now, of 13\n", ""
    )  # fmt: skip
    assert source.read_bytes() == before
    assert b"/v1/chat" in before
    assert b"/v1/chat" not in out.read_bytes()
    code, said, _ = hark("verify", out, "-key", sample.KEY.public_key.hex())
    assert (code, "REDACTED 2" in said) == (0, True)
    lines = hark("inspect", out).out.splitlines()
    assert lines[4].endswith("LlmRequest              (payload taken out; its leaf is kept)")
    assert len(lines) == 13


def test_an_event_of_a_redacted_copy_can_still_be_proved(tmp_path):
    out, proof = tmp_path / "r.hark", tmp_path / "p.json"
    hark("redact", sample.write(tmp_path / "a.hark"), "-seq", "6", "-o", out)
    assert hark("prove", "-seq", "6", "-out", proof, out).code == 0
    code, said, _ = hark("prove", "-check", proof, "-key", sample.KEY.public_key.hex())
    assert (code, "event  not shown" in said) == (0, True)


def test_a_payload_that_is_gone_without_being_listed_is_a_fault(tmp_path):
    out = tmp_path / "r.hark"
    hark("redact", sample.write(tmp_path / "a.hark"), "-seq", "6", "-o", out)
    data = out.read_bytes()
    assert data.count(b"\x18\x20\x81\x06") == 1  # footer key 32: [6]
    out.write_bytes(data.replace(b"\x18\x20\x81\x06", b"\x18\x20\x81\x05"))
    code, _, err = hark("inspect", out)
    assert (code, "event 6 was edited: its payload is gone" in err) == (1, True)


def test_a_broken_bundle_is_not_redacted(tmp_path):
    source = sample.write(tmp_path / "a.hark")
    source.write_bytes(source.read_bytes().replace(b"192.0.2.7", b"192.0.2.8", 1))
    code, _, err = hark("redact", source, "-seq", "4", "-o", tmp_path / "r.hark")
    assert (code, "event 5" in err) == (1, True)
    assert not (tmp_path / "r.hark").exists()


def test_an_unsealed_bundle_the_first_event_and_a_missing_option_are_refused(tmp_path):
    sample.opened(tmp_path / "k.hark").close()
    source = sample.write(tmp_path / "a.hark")
    out = tmp_path / "r.hark"
    assert hark("redact", tmp_path / "k.hark", "-seq", "4", "-o", out).code == 3
    for words in (["-seq", "0", "-o", out], ["-seq", "4"], ["-o", out], ["-seq", "99", "-o", out]):
        assert hark("redact", source, *words).code == 2
    assert not out.exists()
    assert hark("redact", source, "-seq", "4", "-o", source).code == 2
