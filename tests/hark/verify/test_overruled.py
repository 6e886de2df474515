"""A run that denied nothing is told from its record, and only from there."""

import pytest

from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.events import PolicyLoaded
from hark.bundle.redact import redact
from hark.errors import UsageError
from hark.plan.policy_file import OVERRULED
from hark.verify.limits import POLICY_REDACTED
from hark.verify.limits import UNSAFE as LIMIT
from hark.verify.overruled import UNSAFE
from hark.verify.result import VERIFIED
from hark.verify.steps import verify
from tests.hark.bundle.bundles import KEY, RUN, another_writers, write


def bundle(path, source: str):
    events = (RunStart(run_id=RUN), PolicyLoaded(source, ("a.example",)), RunEnd(reason="exit"))
    return str(write(path, events))


def test_the_record_and_the_verifier_have_the_same_words():
    assert OVERRULED == UNSAFE


@pytest.mark.parametrize("source", ["none", "policy.toml"])
def test_a_run_without_the_option_is_not_called_unsafe(tmp_path, source):
    safe = verify(bundle(tmp_path / "a", source))
    assert "UNSAFE" not in safe.line()
    assert LIMIT not in safe.limits
    unsafe = verify(bundle(tmp_path / "b", source + OVERRULED))
    assert "UNSAFE: every host was allowed (--unsafe-allow-all)" in unsafe.line()
    assert LIMIT in unsafe.limits
    assert unsafe.exit_code == 0


@pytest.mark.attack
@pytest.mark.parametrize("source", ["policy.toml", "policy.toml" + OVERRULED])
def test_an_outsider_who_takes_the_policy_out_leaves_it_unknown_and_not_safe(tmp_path, source):
    path = bundle(tmp_path / "a", source)
    redact(path, [1], str(tmp_path / "b"))
    result = verify(str(tmp_path / "b"), [KEY.public_key])
    assert (result.verdict, result.pinned, result.unsafe, result.policy_known) == (
        VERIFIED,
        True,
        False,
        False,
    )
    assert (
        "REDACTED 1, POLICY REDACTED: whether every host was allowed is not known, signed by" in result.line()
    )
    assert POLICY_REDACTED in result.limits
    assert LIMIT not in result.limits
    control = verify(path, [KEY.public_key])
    assert control.policy_known
    assert "POLICY REDACTED" not in control.line()
    assert POLICY_REDACTED not in control.limits


@pytest.mark.attack
def test_an_end_that_was_taken_out_is_said_to_be(tmp_path):
    path = bundle(tmp_path / "a", "none")
    redact(path, [2], str(tmp_path / "b"))
    assert verify(str(tmp_path / "b")).line().startswith("VERIFIED: how the run ended was redacted, ")
    write(tmp_path / "c", (RunStart(run_id=RUN), PolicyLoaded("none")))
    assert "how the run ended is not recorded" in verify(str(tmp_path / "c")).line()  # the control


@pytest.mark.attack
def test_what_says_that_no_boundary_stood_around_it_cannot_be_taken_out(tmp_path):
    events = (RunStart(run_id=RUN, uncontained="a test"), PolicyLoaded("none"), RunEnd(reason="exit"))
    path = str(write(tmp_path / "a", events))
    with pytest.raises(UsageError, match="cannot be redacted"):
        redact(path, [0], str(tmp_path / "b"))
    assert "UNCONTAINED" in verify(path).line()


@pytest.mark.parametrize("payload", [b"\xff", b"\x01", b"\xa1\x01\x02", b"\xa0"])
def test_an_event_that_says_nothing_readable_says_nothing(tmp_path, payload):
    path = another_writers(tmp_path / "x", [(1, 0, b"\xa0"), (2, 1, payload), (16, 2, b"\xa0")])
    assert not verify(str(path)).unsafe
