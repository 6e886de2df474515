import json

import pytest

from demo.translog.log import tlog_entry
from hark.anchor import answer, body, entry
from hark.anchor.jsonform import MalformedError
from tests.support.anchored import local, make


@pytest.fixture
def taken(tmp_path):
    log = local(tmp_path)
    signed = make(log, version=1).signed
    claim, _ = body.parse(signed.entry.body)
    return log.add_v1(json.loads(body.request_v1(claim)))


def test_an_answer_of_version_1_is_the_entry_that_a_bundle_holds(taken):
    (value,) = taken.values()
    assert answer.from_v1(json.dumps(taken).encode()) == entry.parse_entry(tlog_entry(value))


def test_an_answer_of_version_2_is_read_as_it_is(tmp_path):
    log = local(tmp_path)
    signed = make(log).signed
    claim, _ = body.parse(signed.entry.body)
    assert answer.from_v2(json.dumps(log.add_v2(json.loads(body.request_v2(claim)))).encode()) == signed.entry


def test_an_answer_of_another_form_is_malformed(taken):
    (value,) = taken.values()
    bad = [
        b"",
        b"{}",
        json.dumps(taken | {"second": value}).encode(),
        json.dumps({"a": value | {"logID": "zz"}}).encode(),
        json.dumps({"a": value | {"verification": None}}).encode(),
        json.dumps({"a": value | {"body": "AAAA"}}).encode(),
    ]
    for data in bad:
        with pytest.raises(MalformedError):
            answer.from_v1(data)
    proof = value["verification"]["inclusionProof"]
    value["verification"]["inclusionProof"] = proof | {"hashes": ["00"] * 1000}
    with pytest.raises(MalformedError):
        answer.from_v1(json.dumps({"a": value}).encode())
