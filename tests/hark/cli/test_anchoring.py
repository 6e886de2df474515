import pytest

from demo.translog.service import Translog
from hark.anchoring.services import Service
from hark.cli import anchoring
from hark.cli.anchor import SPEC
from hark.cli.run import SPEC as RUN
from hark.cli.spec import parse
from hark.errors import UsageError


def asked(*words):
    return anchoring.asked(parse(SPEC, [*words, "b.hark"]))


def test_without_options_it_is_the_public_log_that_is_asked_and_believed():
    found = asked()
    assert all(one.url.endswith(".sigstore.dev") for one in found.services.logs.services)
    assert (found.trust.root, found.token) == (None, None)


def test_a_log_and_clocks_are_named_or_a_config(tmp_path):
    log = Translog(tmp_path, "http://log.example:3")
    named = asked("-rekor", "http://log.example:3", "-tsa", "http://a", "-tsa", "http://b")
    assert named.services.logs.services == (Service("http://log.example:3"),)
    assert named.services.clocks.needed == 2
    config = asked(
        "-signing-config", str(log.signing_config), "-trusted-root", str(log.trusted_root), "-identity"
    )
    assert config.services.logs.services == (Service("http://log.example:3", 2),)
    assert config.trust.root == log.trusted_root.read_bytes()
    assert config.token is not None


def test_a_run_asks_for_no_anchor_unless_it_was_told_to():
    assert anchoring.asked_for_run(parse(RUN, ["true"])) is None
    assert anchoring.asked_for_run(parse(RUN, ["-anchor", "true"])) is not None
    with pytest.raises(UsageError, match="-rekor goes only with -anchor"):
        anchoring.asked_for_run(parse(RUN, ["-rekor", "http://a", "true"]))
