"""Entering a user namespace: what is left of the caller, and that one can be entered that others made."""

import os

import pytest

from launcher import kernel
from launcher.identity import UNOWNED_ID, agent_identity
from launcher.userspace import enter_user_namespace, join_user_namespace
from tests.launcher.rig import WHO, apart

type Seen = tuple[str, int, int, list[int], str]


def seen() -> Seen:
    """What this process is: its namespace, its ids, and its capabilities."""
    with open("/proc/self/status") as file:
        held = next(line.split()[1] for line in file if line.startswith("CapEff:"))
    return os.readlink("/proc/self/ns/user"), os.getuid(), os.getgid(), os.getgroups(), held


def entered() -> tuple[Seen, int, int]:
    """Enter one; what is seen there, a descriptor of it, and what keeps the one who entered."""
    identity = agent_identity(os.getuid(), os.getgid(), {})
    read, write = os.pipe()
    ready, told = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(write)
        enter_user_namespace(identity)
        os.write(told, repr(seen()).encode())
        os.read(read, 1)
        os._exit(0)
    there: Seen = eval(os.read(ready, 1000))
    return there, os.open(f"/proc/{process}/ns/user", os.O_RDONLY | os.O_CLOEXEC), write


@pytest.mark.parametrize("who", WHO)
def test_who_joins_is_who_entered(who: str) -> None:
    def work() -> tuple[Seen, Seen]:
        identity = agent_identity(os.getuid(), os.getgid(), {})
        there, namespace, _ = entered()
        join_user_namespace(namespace, identity)
        return there, seen()

    there, here = apart(work, who=who)
    assert here == there
    assert here[0] != os.readlink("/proc/self/ns/user")


@pytest.mark.parametrize("who", WHO)
def test_who_entered_has_every_capability_there_and_reads_its_own_proc(who: str) -> None:
    def work() -> tuple[int, bool]:
        enter_user_namespace(agent_identity(os.getuid(), os.getgid(), {}))
        kernel.unshare(os.CLONE_NEWUTS, "use its capabilities")
        return os.getuid(), os.access("/proc/self/ns/user", os.R_OK)

    uid, readable = apart(work, who=who)
    assert uid != 0
    assert readable


if "root" in WHO:

    def test_root_gives_its_uid_up_with_the_namespace() -> None:
        def work() -> tuple[int, int, list[int]]:
            enter_user_namespace(agent_identity(0, 0, {}))
            return os.getuid(), os.getgid(), os.getgroups()

        assert apart(work, who="root") == (UNOWNED_ID, UNOWNED_ID, [])
