"""The order in which the boundary is made, seen from inside and from the host."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from launcher import kernel, trees
from launcher.identity import UNOWNED_ID, Identity
from launcher.plan import Access, Grant
from launcher.report import Ended
from launcher.supervise import Boundary
from tests.launcher.rig import WHO, apart, contained, shell

pytestmark = pytest.mark.attack


@pytest.mark.parametrize("who", WHO)
def test_every_namespace_is_the_agents_own(who: str) -> None:
    kinds = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
    inside = shell("".join(f"readlink /proc/self/ns/{kind};" for kind in kinds), who=who).out.split()
    outside = [os.readlink(f"/proc/self/ns/{kind}") for kind in kinds]
    assert len(inside) == len(kinds)
    assert set(inside) & set(outside) == set()


@pytest.mark.parametrize("who", WHO)
def test_the_agent_has_one_uid_and_gid_and_no_capability(who: str) -> None:
    out = shell("cat /proc/self/uid_map /proc/self/gid_map; grep Cap /proc/self/status", who=who).out
    rows = [line.split() for line in out.splitlines()]
    for inside, outside, count in rows[:2]:
        assert inside == outside != "0"
        assert count == "1"
    assert {row[1] for row in rows[2:]} == {"0000000000000000"}


@pytest.mark.parametrize("who", WHO)
def test_on_the_host_no_process_of_the_agent_has_uid_0(who: str) -> None:
    uids: list[set[str]] = []
    marker = f"hark-look-for-me-{os.getpid()}."

    def look(_boundary: Boundary) -> None:
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    arguments = Path(f"/proc/{name}/cmdline").read_text()
                    status = Path(f"/proc/{name}/status").read_text()
                except OSError:
                    continue
                if marker in arguments:
                    uids.append(set(status.partition("Uid:")[2].split("\n")[0].split()))
        found = Path(f"{_boundary._plan.workdir}/found")
        found.with_suffix(".part").write_text(repr(uids))
        found.with_suffix(".part").rename(found)

    script = f"while [ ! -e found ]; do sleep 0.02; done; cat found # {marker}"
    result = shell(script, who=who, during=look)
    assert result.facts is not None
    assert result.out == repr([{str(result.facts.uid)}])


def test_namespaces_end_with_the_run() -> None:
    name = shell("readlink /proc/self/ns/net").out.strip()
    living = set()
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                living.add(os.readlink(f"/proc/{process}/ns/net"))
            except OSError:
                continue
    assert name
    assert name not in living


if "root" in WHO:

    def test_root_started_by_sudo_becomes_that_user() -> None:
        def change() -> None:
            os.environ.update(SUDO_UID="4242", SUDO_GID="4243")

        assert shell("id -u; id -g", who="root", change=change).out.split() == ["4242", "4243"]

    def test_a_namespace_that_maps_owners_needs_no_process_to_live() -> None:
        def work() -> int:
            descriptor = trees.owner_mapping(Identity(UNOWNED_ID, UNOWNED_ID, changed=True))
            tree = kernel.open_tree("/usr")
            kernel.mount_setattr(tree, kernel.ATTR_IDMAP, "/usr", recursive=True, userns=descriptor)
            return os.fstat(tree).st_uid

        assert apart(work, who="root") == UNOWNED_ID

    def test_an_interpreter_below_roots_home_works_once_its_prefix_is_granted() -> None:
        prefix = Path("/root") / f"hark-test-{os.getpid()}"
        shutil.copytree(Path("/usr/bin/env").parent, prefix / "bin", ignore=_all_but_env)
        try:
            argv = (str(prefix / "bin" / "env"), "true")
            refused = contained(argv, who="root")
            granted = contained(argv, who="root", more=(Grant(str(prefix), Access.READ, "interpreter"),))
        finally:
            shutil.rmtree(prefix)
        assert refused.exit_code == 127
        assert granted.ended == Ended(code=0)

    def test_the_interpreter_of_these_tests_works_inside() -> None:
        prefix = os.path.realpath(sys.base_prefix)
        grant = Grant(prefix, Access.READ, "interpreter of python")
        program = os.path.realpath(sys.executable)
        result = contained((program, "-I", "-c", "print(1)"), who="root", more=(grant,))
        assert result.out == "1\n", result.err + result.error


def _all_but_env(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name != "env"]
