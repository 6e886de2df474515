import pytest

from demo import translog
from hark.anchoring import web
from hark.anchoring.making import Anchoring, make
from hark.anchoring.services import Choice, Service, Services, configured, named
from hark.bundle.tree_head import sign
from hark.errors import UpstreamError
from hark.verify.anchor import Trust, judged_one
from hark.verify.result import ANCHORED, UNCHECKABLE
from tests.hark.bundle.bundles import KEY, RUN
from tests.support.anchored import root_of

HEAD = sign(KEY, RUN, 3, bytes(range(32)), 7)


@pytest.fixture(params=[1, 2])
def log(tmp_path, request):
    with translog.serving(tmp_path, version=request.param) as served:
        yield served


def asked(log, **more):
    services = configured(log.signing_config.read_bytes(), log.clock().timestamp())
    return Anchoring(services, Trust(log.trusted_root.read_bytes()), **more)


def test_an_anchor_by_the_runs_key_holds_for_every_reader(log):
    (made,) = make(HEAD, KEY, asked(log))
    assert made.result.state == ANCHORED
    assert judged_one(made.anchor, HEAD, root_of(log)) == made.result


def test_an_anchor_under_an_identity_needs_no_key_and_names_it(log):
    (made,) = make(HEAD, None, asked(log, token=lambda: log.token("me@x.example")))
    assert (made.result.state, made.result.identity) == (ANCHORED, "me@x.example")
    assert made.anchor.key == made.anchor.certification == b""


def test_each_anchor_has_a_key_of_its_own(log):
    keys = {make(HEAD, KEY, asked(log))[0].anchor.key for _ in range(3)}
    assert len(keys) == 3


@pytest.mark.parametrize("lie", ["entry", "root", "proof", "checkpoint"])
def test_an_answer_that_does_not_hold_is_not_kept(log, lie):
    for service in ("v1", "v2"):
        log.lie(service, lie)
    with pytest.raises(UpstreamError, match="does not hold"):
        make(HEAD, KEY, asked(log))


def test_a_log_that_nobody_here_believes_is_used_and_said(log):
    (made,) = make(HEAD, KEY, asked(log)._replace(trust=Trust()))
    assert made.result.state == UNCHECKABLE


def test_nothing_is_public_where_the_clock_does_not_answer(log):
    log.lie("tsa", "500")
    before = len(log.v1.bodies), len(log.v2.bodies)
    with pytest.raises(UpstreamError, match="status 500"):
        make(HEAD, KEY, asked(log))
    assert (len(log.v1.bodies), len(log.v2.bodies)) == before


def test_a_log_of_version_2_without_a_clock_is_refused_before_it_is_asked(log):
    before = len(log.v2.bodies)
    with pytest.raises(UpstreamError, match="-tsa URL"):
        make(HEAD, KEY, Anchoring(named(f"{log.url}/api/v2", ())))
    assert len(log.v2.bodies) == before


def test_an_identity_without_an_authority_is_refused(log):
    with pytest.raises(UpstreamError, match="signing-config"):
        make(HEAD, None, Anchoring(named(log.url, (log.tsa_url,)), token=lambda: "t"))


def test_the_next_of_several_is_asked_where_one_does_not_answer(log, monkeypatch):
    monkeypatch.setattr(web, "PATIENCE", 60.0)
    dead = Service("http://127.0.0.1:9/", 2)
    clocks = Choice((dead, Service(log.tsa_url)), 1)
    two = Services(Choice((dead, Service(log.url, 2), Service(log.url, 1)), 2), clocks)
    made = make(HEAD, KEY, asked(log)._replace(services=two))
    assert [one.result.state for one in made] == [ANCHORED, ANCHORED]
    three = two._replace(logs=two.logs._replace(needed=3))
    with pytest.raises(UpstreamError):
        make(HEAD, KEY, asked(log)._replace(services=three))


def test_a_log_that_is_not_there_is_named_and_not_taken_for_one_of_version_2():
    with pytest.raises(UpstreamError, match=r"cannot ask http://127\.0\.0\.1:9/api/v1/log"):
        make(HEAD, KEY, Anchoring(named("http://127.0.0.1:9", ())))
