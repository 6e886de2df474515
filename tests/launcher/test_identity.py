"""Who the agent becomes."""

import pytest

from hark.errors import ConfinementError
from launcher.identity import UNOWNED_ID, Identity, agent_identity, check_known
from tests.launcher.conditions import root_alone
from tests.launcher.rig import apart


def test_an_ordinary_callers_agent_keeps_the_callers_ids() -> None:
    assert agent_identity(1000, 100, {"SUDO_UID": "5", "SUDO_GID": "5"}) == Identity(1000, 100, changed=False)


def test_roots_agent_becomes_who_called_sudo() -> None:
    environ = {"SUDO_UID": "1000", "SUDO_GID": "1001"}
    assert agent_identity(0, 0, environ) == Identity(1000, 1001, changed=True)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"SUDO_UID": "0", "SUDO_GID": "0"},
        {"SUDO_UID": "1000"},
        {"SUDO_UID": "1000", "SUDO_GID": "0"},
        {"SUDO_UID": "-1", "SUDO_GID": "1"},
        {"SUDO_UID": "4294967295", "SUDO_GID": "1"},
        {"SUDO_UID": "\uff11", "SUDO_GID": "1"},
        {"SUDO_UID": "1 0", "SUDO_GID": "1"},
    ],
    ids=str,
)
def test_roots_agent_is_never_root(environ: dict[str, str]) -> None:
    assert agent_identity(0, 0, environ) == Identity(UNOWNED_ID, UNOWNED_ID, changed=True)


def test_what_the_agent_sees_itself_as_changes_nothing_on_the_host() -> None:
    agent = agent_identity(1000, 100, {}, (4242, 4343))
    assert (agent.uid, agent.gid) == (1000, 100)
    assert agent.inside == (4242, 4343)
    assert agent_identity(1000, 100, {}).inside == (1000, 100)


@pytest.mark.parametrize(
    "seen", [(0, 1000), (1000, 0), (-1, 1000), (1000, 1 << 32), (0xFFFFFFFF, 1)], ids=repr
)
def test_no_agent_sees_itself_as_root_or_as_what_no_kernel_has(seen: tuple[int, int]) -> None:
    with pytest.raises(ConfinementError, match="no agent may see itself as"):
        agent_identity(1000, 1000, {}, seen)


def test_root_that_knows_no_other_id_is_told_so_and_whoever_stays_who_they_are_is_not() -> None:
    def ask(identity: Identity, *, alone: bool = True) -> str:
        try:
            if alone:
                root_alone()
            check_known(identity)
        except ConfinementError as error:
            return str(error)
        return ""

    other = Identity(UNOWNED_ID, UNOWNED_ID, changed=True)
    assert "/proc/self/uid_map does not have: run hark as an ordinary user" in apart(lambda: ask(other))
    assert apart(lambda: ask(Identity(1000, 1000, changed=False))) == ""
    with open("/proc/self/uid_map", encoding="ascii") as file:  # an ordinary user's tier has a map of one id
        known = int(file.readline().split()[0])
    assert apart(lambda: ask(Identity(known, known, changed=True), alone=False)) == ""
