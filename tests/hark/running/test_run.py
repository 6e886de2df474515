"""Which exit code a run ends with that never began. The run itself is tested end to end, in tests/e2e."""

from hark.errors import ConfinementError, PolicyError, RecordError
from hark.running.run import _refusal
from launcher.report import NotFoundError


def test_before_the_start_every_failure_is_a_refusal_but_exec_keeps_its_code():
    assert _refusal(RecordError("disk full")).exit_code == 125
    assert _refusal(PolicyError("bad")).exit_code == 125
    assert _refusal(ConfinementError("no namespaces")).exit_code == 125
    assert _refusal(NotFoundError("gone")).exit_code == 127
