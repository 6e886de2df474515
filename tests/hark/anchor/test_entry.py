import json

import pytest
from sigstore.models import Bundle

from hark.anchor import entry
from hark.anchor.jsonform import MalformedError
from tests.support.anchored import local, make


@pytest.fixture
def made(tmp_path):
    return make(local(tmp_path), version=1, identity=True)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("identity", [False, True])
def test_what_is_written_is_read_again_the_same(tmp_path, version, identity):
    signed = make(local(tmp_path), version=version, identity=identity).signed
    assert entry.parse(entry.write(signed)) == signed


def test_what_is_written_is_a_bundle_to_sigstore_too(made):
    theirs = Bundle.from_json(made.data())
    assert theirs.log_entry._inner.canonicalized_body == made.signed.entry.body
    assert entry.parse(theirs.to_json().encode()) == made.signed


def changed(made, **changes):
    value = json.loads(made.data())
    value.update(changes)
    return json.dumps(value).encode()


def material(made, **changes):
    held = json.loads(made.data())["verificationMaterial"] | changes
    return changed(made, verificationMaterial={name: one for name, one in held.items() if one is not None})


def test_a_bundle_of_another_kind_is_malformed(made):
    logged = json.loads(made.data())["verificationMaterial"]["tlogEntries"]
    bad = [
        changed(made, mediaType="application/vnd.dev.sigstore.bundle.v9+json"),
        changed(made, messageSignature=None, dsseEnvelope={}),
        changed(made, dsseEnvelope={}),
        changed(made, messageSignature={"signature": "AA==", "messageDigest": {"algorithm": "SHA1"}}),
        material(made, tlogEntries=[]),
        material(made, tlogEntries=logged * 2),
        material(made, tlogEntries=logged * 100),
        material(made, certificate=None, x509CertificateChain={"certificates": []}),
        material(made, timestampVerificationData=[]),
        material(made, timestampVerificationData={"rfc3161Timestamps": [{}] * 100}),
        material(made, tlogEntries=[logged[0] | {"inclusionProof": {"hashes": ["AA=="] * 1000}}]),
        b"x" * (entry.MAX_BUNDLE + 1),
    ]
    for data in bad:
        with pytest.raises(MalformedError):
            entry.parse(data)


def test_the_older_formats_are_read(made):
    held = json.loads(made.data())["verificationMaterial"]
    chain = {"certificates": [held["certificate"]]}
    older = json.loads(material(made, certificate=None, x509CertificateChain=chain))
    older["mediaType"] = entry.OLDER[0]
    signed = entry.parse(json.dumps(older).encode())
    assert signed.promised
    assert signed.certificate == made.signed.certificate
