import json

import pytest

from demo.translog.entries import body_v1, body_v2
from hark.anchor import body
from hark.anchor.body import Claim
from hark.anchor.jsonform import MalformedError
from tests.support.anchored import local, make


@pytest.fixture(params=[False, True], ids=["key", "certificate"])
def claim(tmp_path, request):
    made = make(local(tmp_path), identity=request.param)
    return Claim(made.signed.digest, made.signed.signature, made.key, made.signed.certificate)


def test_what_a_log_makes_of_a_request_claims_the_same(claim):
    assert body.parse(body_v1(json.loads(body.request_v1(claim)))) == (claim, "0.0.1")
    assert body.parse(body_v2(json.loads(body.request_v2(claim)))) == (claim, "0.0.2")


def first(claim, change):
    value = json.loads(body.request_v1(claim))
    change(value)
    return json.dumps(value).encode()


def test_an_entry_that_names_something_else_is_malformed(claim):
    spec = "spec"
    changes = [
        lambda v: v.update(kind="dsse"),
        lambda v: v.update(apiVersion="0.0.9"),
        lambda v: v[spec]["data"]["hash"].update(algorithm="sha512"),
        lambda v: v[spec]["data"]["hash"].update(value="zz"),
        lambda v: v[spec]["signature"]["publicKey"].update(content="AAAA"),
        lambda v: v[spec]["signature"].pop("publicKey"),
        lambda v: v.update(spec=[]),
    ]
    assert body.parse(first(claim, lambda v: None))[0] == claim
    for change in changes:
        with pytest.raises(MalformedError):
            body.parse(first(claim, change))


def test_a_second_version_entry_that_names_something_else_is_malformed(claim):
    honest = json.loads(body_v2(json.loads(body.request_v2(claim))))
    for change in (
        lambda s: s["data"].update(algorithm="SHA2_512"),
        lambda s: s["signature"].update(verifier={}),
        lambda s: s["signature"]["verifier"].update(publicKey={"rawBytes": "AA=="}, x509Certificate={}),
    ):
        value = json.loads(json.dumps(honest))
        change(value["spec"]["hashedRekordV002"])
        with pytest.raises(MalformedError):
            body.parse(json.dumps(value).encode())
