"""A run that denied nothing is told from its record, and only from there."""

import pytest

from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.events import PolicyLoaded
from hark.policy_file import OVERRULED
from hark.verify.limits import UNSAFE as LIMIT
from hark.verify.overruled import UNSAFE
from hark.verify.steps import verify
from tests.hark.bundle.bundles import RUN, another_writers, write


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


@pytest.mark.parametrize("payload", [b"", b"\xff", b"\x01", b"\xa1\x01\x02", b"\xa0"])
def test_an_event_that_says_nothing_readable_says_nothing(tmp_path, payload):
    path = another_writers(tmp_path / "x", [(1, 0, b"\xa0"), (2, 1, payload), (16, 2, b"\xa0")])
    assert not verify(str(path)).unsafe
