"""Events as tlog-proofs: made, checked by hark, and checked by a reading of the specifications of its own."""

import base64
import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from demo.translog import notes
from hark import prove, tlogproof
from hark.bundle import checkpoint, note, tlog_proof
from hark.bundle import events as ev
from hark.bundle.footing import change_footer
from hark.bundle.note import Verifier
from hark.bundle.redact import redact
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, TruncatedError, UsageError
from tests.hark.cli import sample

KEY = sample.KEY.public_key
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
WITNESS = Verifier("w.example/1", note.COSIGNATURE, PRIVATE.public_key().public_bytes_raw())


@pytest.fixture
def bundle(tmp_path):
    return str(sample.write(tmp_path / "a.hark"))


def independently(text, entry, vkey):
    """Check a proof as its specifications say, by nothing of hark's: RFC 9162, 2.1.3.2, and signed-note."""
    head, body = text.split("\n\n", 1)
    lines = head.split("\n")
    assert lines[0] == "c2sp.org/tlog-proof@v1"
    lines = [line for line in lines[1:] if not line.startswith("extra ")]
    index, path = int(lines[0].removeprefix("index ")), [base64.b64decode(line) for line in lines[1:]]
    signed, _, signatures = body.rpartition("\n\n")
    origin, size, root = (signed + "\n").splitlines()
    fn, sn = index, int(size) - 1
    node = hashlib.sha256(b"\x00" + entry).digest()
    for sibling in path:
        assert sn > 0
        if fn % 2 or fn == sn:
            node = hashlib.sha256(b"\x01" + sibling + node).digest()
            while fn % 2 == 0 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = hashlib.sha256(b"\x01" + node + sibling).digest()
        fn, sn = fn >> 1, sn >> 1
    assert sn == 0
    name, digits, material = vkey.split("+", 2)
    key = base64.b64decode(material)
    assert hashlib.sha256(name.encode() + b"\n" + key).digest()[:4].hex() == digits
    (line,) = [one for one in signatures.splitlines() if one.startswith(f"— {name} ")]
    signature = base64.b64decode(line.split(" ")[2])
    assert signature[:4].hex() == digits
    Ed25519PublicKey.from_public_bytes(key[1:]).verify(signature[4:], (signed + "\n").encode())
    return origin, base64.b64decode(root) == node


def test_every_event_is_proved_to_hark_and_to_a_reading_of_its_own(bundle):
    for seq in range(13):
        made = tlogproof.make(bundle, seq)
        checked = tlogproof.check(made.text.encode(), keys=(KEY,))
        assert (checked.seq, checked.source, checked.signed_by) == (seq, prove.FROM_PINNED_KEY, KEY)
        assert ev.kind_of(ev.decode(checked.kind, checked.payload)) == checked.kind
        extra = tlog_proof.read_extra(tlog_proof.read(made.text.encode()).extra)
        vkey = checkpoint.verifier(sample.RUN_ID, KEY).text()
        assert independently(made.text, extra.entry, vkey) == (f"hark/run/{sample.RUN_ID}", True)


def test_that_reading_refuses_what_was_changed(bundle):
    made = tlogproof.make(bundle, 3)
    extra = tlog_proof.read_extra(tlog_proof.read(made.text.encode()).extra)
    vkey = checkpoint.verifier(sample.RUN_ID, KEY).text()
    assert not independently(made.text, extra.entry[::-1], vkey)[1]
    with pytest.raises(InvalidSignature):
        independently(made.text.replace("\nhark/run/", "\nhark/Run/", 1), extra.entry, vkey)


def test_no_changed_line_is_taken(bundle):
    text = tlogproof.make(bundle, 3).text
    lines = text.split("\n")
    for at, line in enumerate(lines):
        for changed in ("", line[:-1], line[:-3] + "AA=" if line.endswith("=") else line + "x"):
            if changed != line:
                data = "\n".join([*lines[:at], changed, *lines[at + 1 :]]).encode()
                with pytest.raises(BundleError):
                    tlogproof.check(data, keys=(KEY,))


def test_another_events_number_kind_or_payload_is_refused(bundle):
    proof = tlog_proof.read(tlogproof.make(bundle, 3).text.encode())
    extra = tlog_proof.read_extra(proof.extra)
    for change in ({"seq": 4}, {"seq": 11}, {"kind": 5}, {"payload": b"x"}, {"entry": extra.entry[:32]}):
        data = tlog_proof.write_extra(extra._replace(**change))
        with pytest.raises(BundleError):
            tlogproof.check(tlog_proof.write(proof._replace(extra=data)).encode())


def test_where_the_key_came_from_is_said(bundle):
    data = tlogproof.make(bundle, 3).text.encode()
    assert tlogproof.check(data).source == prove.FROM_UNKNOWN_KEY
    root = tlogproof.check(data).checkpoint.root
    assert tlogproof.check(data, root=root).source == prove.FROM_OUTSIDE
    with pytest.raises(BundleError, match="is for the root"):
        tlogproof.check(data, root=bytes(32))
    with pytest.raises(BundleError, match="not signed by the run's key"):
        tlogproof.check(data, keys=(bytes(32), b"k" * 32))


def test_a_payload_that_is_not_in_the_proof_is_compared_when_given(tmp_path, bundle):
    with BundleFile(bundle) as file:
        payload = [placed.frame.payload for placed in file.frames()][3]
    redact(bundle, [3], str(tmp_path / "b.hark"))
    made = tlogproof.make(str(tmp_path / "b.hark"), 3)
    assert made.left_out == "its payload is redacted"
    data = made.text.encode()
    assert tlogproof.check(data).kind is None
    assert tlogproof.check(data, payload=payload).payload == payload
    with pytest.raises(BundleError, match="not that of event 3"):
        tlogproof.check(data, payload=payload + b"x")


def test_a_witness_that_was_asked_for_must_be_there(bundle):
    def cosign(footer):
        text = footer.checkpoint.partition("\n\n")[0] + "\n"
        return footer._replace(
            checkpoint=footer.checkpoint + notes.cosign(WITNESS.name, PRIVATE, text, 1_700_000_000)
        )

    bare = tlogproof.make(bundle, 3).text.encode()
    change_footer(bundle, cosign)
    data = tlogproof.make(bundle, 3).text.encode()
    assert tlogproof.check(data, witnesses=[WITNESS]).witnesses == (("w.example/1", 1_700_000_000),)
    with pytest.raises(BundleError, match="has not cosigned"):
        tlogproof.check(bare, witnesses=[WITNESS])


def test_what_has_no_checkpoint_says_why_and_what_to_do(tmp_path):
    unsigned = str(sample.write(tmp_path / "b.hark", key=None))
    with pytest.raises(UsageError, match="nobody signed it; hark prove without -tlog"):
        tlogproof.make(unsigned, 3)
    bundle = sample.write(tmp_path / "c.hark")
    with pytest.raises(UsageError, match="there is no event 13"):
        tlogproof.make(str(bundle), 13)
    bundle.write_bytes(bundle.read_bytes()[:-20])
    with pytest.raises(TruncatedError):
        tlogproof.make(str(bundle), 3)
