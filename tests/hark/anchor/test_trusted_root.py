import json

import pytest

from hark.anchor import trusted_root as module
from hark.anchor.jsonform import MalformedError
from hark.anchor.trusted_root import Period, names, parse
from hark.verify.anchor import public_data
from tests.support.anchored import local


def test_the_public_logs_root_is_read():
    root = parse(public_data("trusted_root.json"))
    assert ("rekor.sigstore.dev",) in {log.names for log in root.logs}
    assert len(root.logs) >= 2
    assert all((root.authorities, root.certificate_logs, root.clocks))


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://rekor.example", ("rekor.example",)),
        ("http://127.0.0.1:3000/", ("127.0.0.1:3000", "127.0.0.1")),
        ("https://log.example:8/one/", ("log.example:8/one", "log.example/one")),
        ("log.example", ("log.example",)),
    ],
)
def test_a_log_is_called_by_its_url_without_the_scheme(url, found):
    assert names(url) == found


def test_a_period_has_both_ends():
    period = Period(5, 7)
    assert [time for time in range(4, 9) if period.has(time)] == [5, 6, 7]
    assert not Period().has(module.FOREVER + 1)


def changed(tmp_path, change):
    value = json.loads(local(tmp_path).trusted_root.read_bytes())
    change(value)
    return json.dumps(value).encode()


CHANGES = {
    "type": lambda v: v.update(mediaType="text/plain"),
    "no-type": lambda v: v.pop("mediaType"),
    "key": lambda v: v["tlogs"][0]["publicKey"].update(rawBytes="AAAA"),
    "no-log-id": lambda v: v["tlogs"][0].pop("logId"),
    "hash": lambda v: v["tlogs"][0].update(hashAlgorithm="SHA2_512"),
    "no-zone": lambda v: v["tlogs"][0]["publicKey"].update(validFor={"start": "2026-01-01T00:00:00"}),
    "no-time": lambda v: v["tlogs"][0]["publicKey"].update(validFor={"start": "never"}),
    "period": lambda v: v["tlogs"][0]["publicKey"].update(validFor=[]),
    "no-certificate": lambda v: v["certificateAuthorities"][0].update(certChain={"certificates": []}),
    "many": lambda v: v.update(tlogs=v["tlogs"] * 40),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_is_not_wholly_understood_is_malformed(tmp_path, change):
    parse(changed(tmp_path, lambda _: None))
    with pytest.raises(MalformedError):
        parse(changed(tmp_path, change))
