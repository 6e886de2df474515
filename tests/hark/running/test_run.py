"""Which exit code a run ends with that never began. The run itself is tested end to end, in tests/e2e."""

from types import SimpleNamespace

from hark.errors import ConfinementError, PolicyError, RecordError
from hark.running.left import Left
from hark.running.run import Run, _refusal
from launcher.report import NotFoundError


def test_before_the_start_every_failure_is_a_refusal_but_exec_keeps_its_code():
    assert _refusal(RecordError("disk full")).exit_code == 125
    assert _refusal(PolicyError("bad")).exit_code == 125
    assert _refusal(ConfinementError("no namespaces")).exit_code == 125
    assert _refusal(NotFoundError("gone")).exit_code == 127


def test_a_failure_to_look_through_what_was_left_is_told_and_keeps_nothing_from_being_sealed(monkeypatch):
    def fails(*_: object) -> Left:
        raise ValueError("embedded null byte")

    prepared = SimpleNamespace(project=None, policy=SimpleNamespace(unprotect=()))
    run = SimpleNamespace(is_kept=True, prepared=prepared, environ={"HOME": "/nowhere"})
    monkeypatch.setattr("hark.running.left.looked_through", fails)
    left = Run._looked_through(run)
    assert left.unsearched == "ValueError in hark itself: embedded null byte; look before you run git there"
    monkeypatch.setattr("hark.running.left.looked_through", lambda *_: Left())
    assert Run._looked_through(run) == Left()
