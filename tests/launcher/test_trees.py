"""Root's trees as root's agent meets them, and owners as they end up on disk."""

import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from launcher import kernel
from launcher.identity import UNOWNED_ID
from launcher.plan import Access, Grant
from launcher.system import system_grants
from launcher.trees import swapped
from tests.launcher.rig import PATH, WHO, Result, apart, contained, plan, project, run_here, shell
from tests.support.user import ordinary_uid


@pytest.mark.parametrize("identifier", [1, 2, 1000, UNOWNED_ID])
def test_the_map_exchanges_two_ids_and_covers_every_other_once(identifier: int) -> None:
    rows = [tuple(map(int, line.split())) for line in swapped(identifier).splitlines()]
    assert (0, identifier, 1) in rows
    assert (identifier, 0, 1) in rows
    assert sum(count for _, _, count in rows) == (1 << 32) - 1
    for column in (0, 1):
        ranges = sorted((row[column], row[column] + row[2]) for row in rows)
        assert ranges[0][0] == 0
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(ranges))


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder that only the caller can enter, below another such folder."""
    with tempfile.TemporaryDirectory(prefix="hark-private-") as name:
        folder = Path(name) / "inner"
        folder.mkdir(mode=0o700)
        (folder / "file").write_text("inner text")
        (folder / "file").chmod(0o600)
        yield folder


if "root" in WHO:

    @pytest.mark.attack
    def test_roots_agent_sees_roots_project_as_its_own() -> None:
        def prepare(folder: Path) -> None:
            (folder / "mine").write_text("x\n")
            (folder / "mine").chmod(0o600)

        script = "cat mine; echo y >> mine; echo n > new; stat -c %u mine new ."
        result = contained(("/bin/sh", "-c", script), who="root", prepare=prepare)
        assert result.out.split() == ["x", *[str(UNOWNED_ID)] * 3]

    @pytest.mark.attack
    def test_new_files_of_roots_agent_belong_to_root_on_disk(private: Path) -> None:
        more = (Grant(str(private), Access.WRITE, "-write"),)
        shell(f"echo n > {private}/new", who="root", more=more)
        status = (private / "new").stat()
        assert (status.st_uid, status.st_gid) == (0, 0)

    @pytest.mark.attack
    def test_roots_agent_reads_a_grant_that_only_root_can_enter(private: Path) -> None:
        more = (Grant(str(private), Access.READ, "-read"),)
        result = shell(f"cat {private}/file; echo x > {private}/file", who="root", more=more)
        assert result.out == "inner text"
        assert (private / "file").read_text() == "inner text"

    @pytest.mark.attack
    def test_where_owners_cannot_be_mapped_the_disk_decides_and_the_facts_say_so(private: Path) -> None:
        real = kernel.mount_setattr

        def refuse(tree: int, attributes: int, name: str, *, recursive: bool, userns: int = 0) -> None:
            if attributes == kernel.ATTR_IDMAP:
                raise OSError(22, "Invalid argument", name)
            real(tree, attributes, name, recursive=recursive, userns=userns)

        def change() -> None:
            kernel.mount_setattr = refuse

        more = (Grant(str(private), Access.WRITE, "-write"),)
        result = shell(f"cat {private}/file", who="root", more=more, change=change)
        assert result.out == ""
        assert result.facts is not None
        (grant,) = [grant for grant in result.facts.grants if grant.path == str(private)]
        assert "cannot map owners" in grant.owners


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_descriptors_of_the_launcher_do_not_reach_the_agent(who: str) -> None:
    result = shell("ls /proc/self/fd | wc -l; ls -l /proc/$$/fd", who=who)
    assert result.out.split()[0] == "4"  # three streams and ls's own folder


_ELSEWHERE = "/srv/hark-was-recorded-here/project"


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_a_copy_is_shown_where_the_project_was_and_nothing_of_the_place_is_made(who: str) -> None:
    """What the agent writes is in the copy, and the host has no such path before or after."""
    script = """pwd; cat kept; ls -A ..; echo new > made; mv kept moved; cat .env; echo x > locked 2>/dev/null
    echo "$?"; echo "in $HOME"; : > $HOME/x"""

    def work() -> tuple[Result, list[str], str]:
        for name, text in (("kept", "as recorded\n"), (".env", "SECRET=1\n"), ("locked", "kept\n")):
            (folder / name).write_text(text)
        grants = (*system_grants(), Grant(_ELSEWHERE, Access.WRITE, "project directory", str(folder)))
        what = replace(
            plan(folder, ("/bin/sh", "-c", script)),
            grants=grants,
            workdir=_ELSEWHERE,
            home="/srv/hark-was-recorded-here",
            env={"PATH": PATH, "HOME": "/srv/hark-was-recorded-here"},
            masked=(f"{_ELSEWHERE}/.env",),
            protected=(f"{_ELSEWHERE}/locked",),
        )
        return run_here(what), sorted(os.listdir(folder)), (folder / "made").read_text()

    with project(who) as folder:
        result, left, made = apart(work, who=who)
        owner = os.stat(folder / "made").st_uid
    assert result.error == ""
    assert result.out == f"{_ELSEWHERE}\nas recorded\nproject\n2\nin /srv/hark-was-recorded-here\n"
    assert left == [".env", "locked", "made", "moved"]
    assert made == "new\n"
    assert owner == (0 if who == "root" else ordinary_uid())
    assert not os.path.lexists("/srv/hark-was-recorded-here")


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_a_link_in_a_copy_leads_nothing_of_the_launchers_onto_the_host(who: str) -> None:
    """The copy is hostile: its links must not make the launcher create a mount point outside of it."""

    def work() -> Result:
        target = folder / "outside"
        target.mkdir()
        copy = folder / "copy"
        copy.mkdir()
        (copy / "lib").symlink_to(target)
        grants = (
            *system_grants(),
            Grant(_ELSEWHERE, Access.WRITE, "project directory", str(copy)),
            Grant(f"{_ELSEWHERE}/lib/deep/file", Access.READ, "-read", "/etc/hostname"),
        )
        what = replace(plan(folder, ("/bin/sh", "-c", "ls")), grants=grants, workdir=_ELSEWHERE)
        result = run_here(what, gateway=False)
        assert os.listdir(target) == []
        return result

    with project(who) as folder:
        result = apart(work, who=who)
    assert (result.error, result.out) == ("", "lib\n")
