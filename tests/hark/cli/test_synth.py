"""Made-up bundles: whole unless asked otherwise, and the same each time."""

import pytest

from hark import keys
from tests.hark.cli.program import hark


def test_a_made_up_bundle_verifies_and_has_as_many_events_as_asked_for(tmp_path):
    out = tmp_path / "s.hark"
    assert hark("synth", "-o", out, "-events", "7") == (0, f"wrote {out}, {out.stat().st_size} bytes\n", "")
    assert "7 events, unsigned" in hark("verify", out).out
    assert len(hark("inspect", out).out.splitlines()) == 7
    hark("synth", "-o", tmp_path / "t.hark", "-events", "7")
    assert (tmp_path / "t.hark").read_bytes() == out.read_bytes()


def test_the_size_is_that_of_a_payload(tmp_path):
    for size in ("100", "5000"):
        hark("synth", "-o", tmp_path / size, "-events", "53", "-size", size)
    grown = (tmp_path / "5000").stat().st_size - (tmp_path / "100").stat().st_size
    assert 50 * 4890 < grown < 50 * 4910


def test_corrupt_and_truncate_spoil_the_event_that_was_named(tmp_path):
    hark("synth", "-o", tmp_path / "c", "-corrupt", "7")
    code, out, _ = hark("verify", tmp_path / "c")
    assert (code, out.startswith("BROKEN: event 7 ")) == (1, True)
    hark("synth", "-o", tmp_path / "t", "-truncate", "9")
    code, out, _ = hark("verify", tmp_path / "t")
    assert (code, "9 events" in out) == (3, True)


def test_a_key_signs_it(tmp_path):
    key = keys.generate()
    keys.create_private(str(tmp_path / "k"), key)
    hark("synth", "-o", tmp_path / "s", "-key", tmp_path / "k")
    assert hark("verify", tmp_path / "s", "-key", key.public_key.hex()).code == 0


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-events", "2"],
        ["-events", "x"],
        ["-corrupt", "100"],
        ["-truncate", "100"],
        ["-size", "99999999999"],
        ["-events", "100000001"],
        ["-events", "9999999999999999999"],
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_no_file(tmp_path, words):
    out = tmp_path / "s"
    code, said, err = hark("synth", *(["-o", out, *words] if words else []))
    assert (code, said) == (2, "")
    assert err.startswith("hark: ")
    assert not out.exists()


def test_nothing_is_overwritten_and_a_missing_directory_is_a_sentence(tmp_path):
    (tmp_path / "s").write_bytes(b"mine")
    assert hark("synth", "-o", tmp_path / "s").code == 2
    assert (tmp_path / "s").read_bytes() == b"mine"
    words = f"there is no directory {tmp_path}/no to write in; make it first: mkdir -p {tmp_path}/no"
    assert hark("synth", "-o", tmp_path / "no" / "s") == (2, "", f"hark: {words}\n")
