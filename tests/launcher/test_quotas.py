"""Watches of files are counted by user: the agent has half of them, and its caller's programs the rest."""

import pytest

from launcher import quotas
from tests.launcher.rig import WHO, python, without

pytestmark = pytest.mark.attack

MOST = 20
"""Stands for what a user may have, which other programs of this user need."""
COUNT = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def as_many(made, most={MOST}):
    got = 0
    while got < most and made(got) >= 0: got += 1
    return got
held = libc.inotify_init1(0)
def watched(at):
    os.mkdir(f"/tmp/{{at}}")
    return libc.inotify_add_watch(held, f"/tmp/{{at}}".encode(), 2)
print(as_many(watched), 1 + as_many(lambda _: libc.inotify_init1(0)))
"""


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("who", WHO)
def test_an_agent_uses_up_half_of_its_callers_watches(who: str, nested: bool) -> None:
    few = without(quotas, "allowed", lambda _setting: MOST)
    watches, instances = map(int, python(COUNT, who=who, nested=nested, change=few).out.split())
    assert 0 < watches <= MOST // 2
    assert 0 < instances <= MOST // 2


def test_the_control_without_that_it_has_more() -> None:
    watches, instances = map(int, python(COUNT, change=without(quotas, "leave_half")).out.split())
    assert (watches, instances) == (MOST, MOST + 1)


def test_a_namespace_of_a_nested_agents_own_has_no_more() -> None:
    within = f"import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0\n{COUNT}"
    few = without(quotas, "allowed", lambda _setting: MOST)
    watches, instances = map(int, python(within, nested=True, change=few).out.split())
    assert watches <= MOST // 2
    assert instances <= MOST // 2


def test_half_is_by_what_the_user_may_have() -> None:
    halves = "".join(f"print(open('/proc/sys/{name}').read())\n" for name in quotas._COUNTED)
    told = [int(one) for one in python(halves).out.split()]
    assert told == [quotas.allowed(name) // 2 for name in quotas._COUNTED.values()]
