"""No byte of a sealed bundle is uncovered: cut and flipped everywhere. Controls, where nothing covers it."""

import pytest
from blake3 import blake3

from hark.bundle.header import encode_header
from hark.bundle.redact import redact
from hark.bundle.walk import BundleFile
from hark.errors import HarkError, TruncatedError
from hark.verify import TRUNCATED, VERIFIED, verify
from tests.hark.bundle.bundles import EVENTS, HEADER, KEY, another_writers, plain, sealed, write


def test_a_small_bundle_cut_at_every_offset_is_truncated_and_never_verified(tmp_path):
    data = write(tmp_path / "a").read_bytes()
    with BundleFile(str(tmp_path / "a")) as file:
        first = file.first
        ends = [placed.offset + placed.frame.size for placed in file.frames()]
    path = tmp_path / "b"
    for size in range(1, len(data)):
        path.write_bytes(data[:size])
        if size < first:
            with pytest.raises(TruncatedError):
                verify(str(path))
            continue
        result = verify(str(path))
        assert (result.verdict, result.exit_code) == (TRUNCATED, 3)
        assert result.events == sum(end <= size for end in ends)


def undetected_flips(path, masks):
    """The flips after which `path` still verifies, each with the byte where it is."""
    data, found = path.read_bytes(), []
    for at in range(len(data)):
        for mask in masks:
            path.write_bytes(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
            try:
                if verify(str(path)).verdict == VERIFIED:
                    found.append((at, mask))
            except HarkError:
                continue
    return found


SMALL = (EVENTS[0], EVENTS[4])
MASKS = [
    pytest.param([0x01], id="lowest bit"),
    pytest.param([0x80], id="highest bit"),
    pytest.param([0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0xFF], id="the others", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("key", [None, KEY], ids=["unsigned", "signed"])
def test_every_flip_of_a_byte_in_a_sealed_bundle_is_detected(tmp_path, key, masks):
    """No byte is left uncovered."""
    assert undetected_flips(write(tmp_path / "b", SMALL, key=key), masks) == []


def test_every_flip_of_a_byte_in_a_redacted_bundle_is_detected(tmp_path):
    redact(str(write(tmp_path / "a", (*SMALL, EVENTS[3]))), [2], str(tmp_path / "b"))
    assert undetected_flips(tmp_path / "b", [0x01]) == []


def test_flips_in_an_entry_without_proof_are_not_detected_which_is_why_it_is_no_anchor(tmp_path):
    """The control of the tests above: what they would say of bytes that nothing covers."""
    path = another_writers(tmp_path / "b", sealed(plain(SMALL)), rekor_entry="entry", rekor_index=7)
    at = path.read_bytes().index(b"entry")
    assert at in {place for place, _ in undetected_flips(path, [0x01])}


def test_the_seal_alone_covers_what_the_signature_does_not(tmp_path):
    """The control: without a Seal, a changed time and header go through, which is why the limits say so."""
    path = another_writers(tmp_path / "b", plain())
    data = path.read_bytes()
    assert blake3(encode_header(HEADER)).digest() not in data
    with BundleFile(str(path)) as file:
        at = file.first + 20
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert verify(str(path), [KEY.public_key]).verdict == VERIFIED
    path.write_bytes(data.replace(b"p" * 32, b"q" * 32, 1))
    assert verify(str(path), [KEY.public_key]).verdict == VERIFIED
