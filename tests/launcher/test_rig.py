"""The forked child of the launcher's tests: one that hangs is ended, and it is said where."""

import time

import pytest

from tests.launcher import rig


def test_a_child_that_hangs_is_ended_and_its_stack_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rig.apart(lambda: 5, who="root") == 5
    monkeypatch.setattr(rig, "HUNG_S", 1)
    with pytest.raises(AssertionError, match=r"did not answer in 1 s:[^$]*test_rig\.py"):
        rig.apart(lambda: time.sleep(60), who="root")
