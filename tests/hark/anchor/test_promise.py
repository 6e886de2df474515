import json

from demo.translog.entries import canonical
from hark.anchor.promise import signed_bytes
from tests.support.anchored import local, make


def test_what_the_log_signs_is_made_anew_from_the_entry(tmp_path):
    entry = make(local(tmp_path), version=1).signed.entry
    value = json.loads(signed_bytes(entry))
    assert set(value) == {"body", "integratedTime", "logID", "logIndex"}
    assert canonical(value) == signed_bytes(entry)
    assert signed_bytes(entry._replace(time=1)) != signed_bytes(entry)
