"""Findings: ok only if seen to work, missing only if refused, unknown otherwise."""

import os
import signal

import pytest

from hark.errors import ConfinementError
from launcher import advice, doctor
from launcher.doctor import Finding, State, check
from tests.launcher.rig import WHO, apart


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_a_host_on_which_runs_work_is_found_fit(who: str) -> None:
    assert [finding for finding in apart(check, who=who) if finding.state is not State.OK] == []


def refuse() -> str:
    raise OSError(1, "Operation not permitted", "unshare")


def refuse_in_words() -> str:
    raise ConfinementError("no such machine")


def break_down() -> str:
    raise KeyError("bug")


def vanish() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@pytest.mark.parametrize(
    ("probe", "state", "words"),
    [
        (lambda: "fine", State.OK, "fine"),
        (refuse, State.MISSING, "cannot create a user namespace"),
        (refuse_in_words, State.MISSING, "no such machine"),
        (break_down, State.UNKNOWN, "KeyError"),
        (vanish, State.UNKNOWN, "without an answer"),
    ],
    ids=["works", "refused", "refused-in-words", "broken", "vanished"],
)
def test_a_probe_that_could_not_run_is_unknown_and_not_ok(
    probe: doctor.Probe, state: State, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_PROBES", (("thing", "user namespace", probe),))
    (finding,) = check()
    assert (finding.name, finding.state) == ("thing", state)
    assert words in finding.words


@pytest.mark.attack
def test_user_namespaces_that_are_used_up_are_found_missing() -> None:
    def work() -> list[Finding]:
        uid = os.geteuid()
        os.unshare(os.CLONE_NEWUSER)
        with open("/proc/self/uid_map", "wb") as file:
            file.write(b"%d %d 1" % (uid, uid))
        with open("/proc/sys/user/max_user_namespaces", "wb") as file:
            file.write(b"0")
        return list(check())

    found = {finding.name: finding for finding in apart(work)}
    assert found["user namespaces"].state is State.MISSING
    assert "user.max_user_namespaces" in found["user namespaces"].words
    assert found["Landlock"].state is State.OK
    # Said once: what needs a user namespace was not tried, and that is all that is known of it.
    for name in ("network", "mounts"):
        assert found[name] == Finding(name, State.UNKNOWN, "not tried, since it needs a user namespace")


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "flag", "words"),
    [
        ("user namespaces", os.CLONE_NEWUSER, "cannot create a user namespace (Operation not permitted): "),
        (
            "user namespaces",
            os.CLONE_NEWUTS,
            "cannot create a user namespace (use its capabilities: Operation not permitted): ",
        ),
        (
            "network",
            os.CLONE_NEWNET,
            "cannot build the network (make a network namespace: Operation not permitted): ",
        ),
        (
            "mounts",
            os.CLONE_NEWNS,
            "cannot make the agent's mounts (make mount and process namespaces: Operation not permitted): ",
        ),
    ],
)
def test_a_namespace_that_is_refused_is_named_in_words_and_the_advice_given_once(
    name: str, flag: int, words: str
) -> None:
    real = os.unshare

    def refuse(flags: int) -> None:
        if flags & flag:
            raise PermissionError(1, "Operation not permitted")  # as os.unshare does: no name in it
        real(flags)

    found = apart(check, change=lambda: setattr(os, "unshare", refuse))
    missing = [finding for finding in found if finding.state is State.MISSING]
    assert [finding.name for finding in missing] == [name]
    assert missing[0].words == words + (advice.user_namespaces() or advice.container())
