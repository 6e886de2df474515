import pytest

from hark.bundle import tlog_proof
from hark.bundle.tlog_proof import Extra, TlogProof
from hark.errors import BundleError

HASHES = (b"a" * 32, b"b" * 32)
PROOF = TlogProof(b"more", 12, HASHES, "origin\n13\nroot\n\n— a b\n")
TEXT = tlog_proof.write(PROOF)
EXTRA = Extra(97, 11, b"payload", b"e" * 64, b"k" * 32)


def test_the_text_is_the_specifications():
    assert TEXT == (
        "c2sp.org/tlog-proof@v1\nextra bW9yZQ==\nindex 12\n"
        "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\nYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI=\n"
        "\norigin\n13\nroot\n\n— a b\n"
    )
    for proof in (PROOF, PROOF._replace(extra=b""), PROOF._replace(number=0, hashes=())):
        assert tlog_proof.read(tlog_proof.write(proof).encode()) == proof
        assert tlog_proof.is_one(tlog_proof.write(proof).encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "c2sp.org/tlog-proof@v1\n\ncheckpoint",
        TEXT.replace("@v1", "@v2"),
        TEXT.replace("index 12", "index 012"),
        TEXT.replace("index 12", "index -1"),
        TEXT.replace("index 12\n", ""),
        TEXT.replace("bW9yZQ==", "bW9yZQ"),
        TEXT.replace("YWFh", "YW Fh", 1),
        TEXT.replace("\nindex", "\nextra bW9yZQ==\nindex"),
        TEXT.replace("index 12\n", "index 12\n" + "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\n" * 62),
    ],
)
def test_what_is_not_to_the_letter_is_refused(text):
    with pytest.raises(BundleError):
        tlog_proof.read(text.encode())


def test_bytes_outside_utf_8_are_refused():
    with pytest.raises(BundleError, match="UTF-8"):
        tlog_proof.read(TEXT.encode() + b"\xff")


def test_extra_data_is_read_only_as_it_is_written():
    data = tlog_proof.write_extra(EXTRA)
    assert tlog_proof.read_extra(data) == EXTRA
    for other in (b"", b"more", data + b"\0", data[:-1], bytes([data[0] - 1]) + data[1:], b"\xa0"):
        with pytest.raises(BundleError):
            tlog_proof.read_extra(other)
