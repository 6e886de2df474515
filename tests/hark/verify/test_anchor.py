import json
import sys

import pytest

from hark.anchor.body import Claim
from hark.anchor.keys import hint
from hark.bundle.anchor import Anchor, artifact
from hark.bundle.header import Footer
from hark.bundle.tree_head import sign
from hark.errors import UsageError
from hark.verify.anchor import Identity, Trust, judged, judged_one, public_data, trusted_root, witness_keys
from hark.verify.result import ANCHOR_REJECTED, ANCHORED, UNCHECKABLE
from tests.hark.bundle.bundles import KEY, OTHER_KEY, RUN
from tests.support.anchored import URL, WHO, anchor_of, local, root_of

HEAD = sign(KEY, RUN, 3, bytes(range(32)), 7)


@pytest.fixture
def log(tmp_path):
    return local(tmp_path)


def test_an_anchoring_key_must_be_certified_by_the_key_that_signed_the_head(log):
    good = anchor_of(log, HEAD, KEY)
    assert judged_one(good, HEAD, root_of(log)).state == ANCHORED
    stranger = anchor_of(log, HEAD, OTHER_KEY)
    for anchor in (stranger, good._replace(certification=b""), good._replace(key=stranger.key)):
        assert judged_one(anchor, HEAD, root_of(log)).state == ANCHOR_REJECTED


def test_a_key_that_is_left_out_does_not_get_around_the_certification(log):
    good = anchor_of(log, HEAD, KEY)
    assert judged_one(Anchor(good.bundle), HEAD, root_of(log)).state == ANCHOR_REJECTED


def test_an_anchor_of_another_head_by_the_same_key_is_rejected(log):
    other = sign(KEY, RUN, 3, bytes(range(32)), 8)
    assert judged_one(anchor_of(log, other, KEY), HEAD, root_of(log)).state == ANCHOR_REJECTED


def test_a_sigstore_bundle_that_hark_would_not_have_written_is_rejected(log):
    good = anchor_of(log, HEAD, KEY)
    for bundle in (good.bundle + b" ", json.dumps(json.loads(good.bundle) | {"more": 1}).encode()):
        found = judged_one(good._replace(bundle=bundle), HEAD, root_of(log))
        assert (found.state, "as hark writes" in found.why) == (ANCHOR_REJECTED, True)


def test_an_unknown_log_is_not_checkable(log):
    found = judged(Footer(tree_head=HEAD, anchors=(anchor_of(log, HEAD, KEY),)), Trust())
    assert [one.state for one in found] == [UNCHECKABLE]


def test_an_anchor_without_a_signed_head_is_rejected(log):
    found = judged(Footer(anchors=(anchor_of(log, HEAD, KEY),)), Trust(log.trusted_root.read_bytes()))
    assert [one.state for one in found] == [ANCHOR_REJECTED]


def test_the_public_logs_data_is_in_the_installed_package_and_loads_none_of_its_code():
    assert json.loads(public_data("trusted_root.json"))["tlogs"]
    assert json.loads(public_data("signing_config.v0.2.json"))["rekorTlogUrls"]


def test_a_trust_root_or_witness_that_cannot_be_read_is_a_usage_error(log):
    with pytest.raises(UsageError, match="trusted-root"):
        trusted_root(b"{}")
    with pytest.raises(UsageError, match="log-witness"):
        witness_keys(["nonsense"])
    assert len(witness_keys([log.witness_vkey])) == 1


def test_an_identitys_anchor_is_one_that_sigstores_own_verifier_takes(log):
    from sigstore.models import Bundle, TrustedRoot
    from sigstore.verify import Verifier
    from sigstore.verify.policy import Identity

    anchor = anchor_of(log, HEAD, KEY, identity=True)
    verifier = Verifier(trusted_root=TrustedRoot.from_file(str(log.trusted_root)))
    policy = Identity(identity="recorder@translog.example", issuer="https://log.example:3000/oidc")
    verifier.verify_artifact(artifact(HEAD), Bundle.from_json(anchor.bundle), policy)


def test_judging_imports_no_code_of_sigstores(log):
    code = (
        "import sys; from hark.verify.anchor import public_data; public_data('trusted_root.json'); "
        "from hark.anchor import judge; print([m for m in sys.modules if m.startswith('sigstore.') "
        "and m != 'sigstore._store'], 'requests' in sys.modules, 'pydantic' in sys.modules)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False False"


def test_an_anchoring_key_of_another_kind_or_under_another_name_is_rejected(log):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    from hark.anchor import entry
    from hark.anchor.body import request_v2
    from hark.bundle.anchor import certify
    from tests.support.anchored import stamp

    good = anchor_of(log, HEAD, KEY)
    signed = entry.parse(good.bundle)
    renamed = good._replace(bundle=entry.write(signed._replace(hint="AAAA")))
    assert judged_one(renamed, HEAD, root_of(log)).state == ANCHOR_REJECTED
    other = ec.generate_private_key(ec.SECP384R1())
    der = other.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    signature = other.sign(artifact(HEAD), ec.ECDSA(hashes.SHA384()))
    claim = Claim(signed.digest, signature, der)
    wanted = json.loads(request_v2(claim))["hashedRekordRequestV002"]
    record = {"data": {"algorithm": "SHA2_256", "digest": wanted["digest"]}, "signature": wanted["signature"]}
    body = {"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": {"hashedRekordV002": record}}
    number = log.v2.add(json.dumps(body).encode(), 0)
    taken = entry.parse_entry(log.v2.entry_v2(number, log.v2.prove(number)))
    made = signed._replace(signature=signature, entry=taken, stamps=(stamp(log, signature),), hint=hint(der))
    found = judged_one(Anchor(entry.write(made), der, certify(KEY, HEAD, der)), HEAD, root_of(log))
    assert (found.state, "as hark writes" in found.why) == (ANCHOR_REJECTED, True)


def test_public_data_that_is_not_there_is_said(monkeypatch):
    from hark.verify import anchor as module

    monkeypatch.setattr(module, "PUBLIC", "elsewhere")
    with pytest.raises(UsageError, match="-trusted-root"):
        trusted_root(None)


MINE = Identity(WHO, f"{URL}/oidc")


@pytest.mark.parametrize(
    "other",
    [
        MINE._replace(name="recorder@translog.example.evil.example"),
        MINE._replace(name="Recorder@translog.example"),
        MINE._replace(name=".*"),
        MINE._replace(issuer=f"{URL}/oidc/"),
        MINE._replace(issuer=""),
        Identity(MINE.issuer, MINE.name),
    ],
    ids=["longer", "case", "pattern", "issuer", "no issuer", "swapped"],
)
def test_an_anchor_under_another_identity_than_the_expected_one_is_rejected(log, other):
    footer = Footer(tree_head=HEAD, anchors=(anchor_of(log, HEAD, KEY, identity=True),))
    trust = Trust(log.trusted_root.read_bytes())
    (found,) = judged(footer, trust._replace(identities=(other,)))
    assert (found.state, WHO in found.why, found.expected) == (ANCHOR_REJECTED, True, False)
    (found,) = judged(footer, trust._replace(identities=(other, MINE)))
    assert (found.state, found.expected) == (ANCHORED, True)
    (found,) = judged(footer, trust)
    assert (found.state, found.expected) == (ANCHORED, False)


def test_an_anchor_by_the_runs_key_is_under_no_identity(log):
    footer = Footer(tree_head=HEAD, anchors=(anchor_of(log, HEAD, KEY),))
    (found,) = judged(footer, Trust(log.trusted_root.read_bytes(), identities=(MINE, Identity("", ""))))
    assert (found.state, found.expected) == (ANCHORED, False)
