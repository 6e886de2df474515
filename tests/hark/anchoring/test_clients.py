import pytest

from demo import translog
from demo.translog import certificates
from demo.translog.requests import signed
from hark.anchor.body import Claim
from hark.anchor.chain import identity, load
from hark.anchor.stamp import time_of
from hark.anchoring import clients, web
from hark.anchoring.services import Service
from hark.errors import UpstreamError
from tests.support.anchored import root_of


@pytest.fixture
def log(tmp_path):
    with translog.serving(tmp_path) as served:
        yield served


CLAIM = Claim(*signed(b"x"))
LIES = ["500", "garbage", "hang", "endless"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_log_takes_a_claim_in(log, version):
    entry = clients.submit(Service(log.url, version), CLAIM)
    assert entry.proof is not None
    assert bool(entry.promise) == (version == 1)
    assert entry.version == f"0.0.{version}"


def test_a_log_of_version_1_is_told_by_what_it_says_of_itself(log, monkeypatch):
    assert clients.settled(Service(log.url)).version == 1
    assert clients.settled(Service(log.url, 2)).version == 2
    monkeypatch.setattr(web, "ask", lambda *_: web.Answer(404, b""))
    assert clients.settled(Service(log.url)).version == 2


def test_a_clock_stamps_and_an_authority_certifies(log):
    stamp = clients.stamp(Service(log.tsa_url), b"message")
    assert time_of(stamp, b"message", root_of(log).clocks)[0] > 0
    held = clients.certificate(Service(log.fulcio_url), certificates.new_key(), log.token("me@x.example"))
    assert identity(load(held))[0] == "me@x.example"


def test_a_token_that_is_not_good_is_refused_by_the_authority(log):
    with pytest.raises(UpstreamError, match="status"):
        clients.certificate(Service(log.fulcio_url), certificates.new_key(), "no.token.here")


@pytest.mark.parametrize("lie", LIES)
def test_whatever_is_answered_instead_is_said_in_a_sentence(log, monkeypatch, lie):
    monkeypatch.setattr(web, "PATIENCE", 0.5)
    for service in ("v1", "v2", "ca"):
        log.lie(service, lie)
    for ask in (
        lambda: clients.submit(Service(log.url, 1), CLAIM),
        lambda: clients.submit(Service(log.url, 2), CLAIM),
        lambda: clients.certificate(Service(log.fulcio_url), certificates.new_key(), log.token()),
    ):
        with pytest.raises(UpstreamError):
            ask()
