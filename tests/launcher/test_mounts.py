"""The agent's file tree: what is there, what is not, and what cannot be changed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from launcher import kernel
from launcher.plan import Access, Grant
from launcher.report import Ended
from tests.launcher.rig import (
    WHO,
    Result,
    apart,
    become_ordinary,
    contained,
    plan,
    project,
    run_here,
    shell,
)

pytestmark = pytest.mark.attack
EACH = pytest.mark.parametrize("who", WHO)


@EACH
def test_nothing_outside_the_grants_can_be_written(who: str) -> None:
    script = """
    for d in / /etc /run /usr /usr/bin /dev /sys /proc /proc/sys/kernel /var /home /sys/devices/system/cpu; do
        (: > $d/planted) 2>/dev/null && echo "wrote $d"
    done; for d in . /tmp /var/tmp /dev/shm $HOME; do (: > $d/planted) 2>/dev/null || echo "not $d"; done"""
    assert shell(script, who=who).out == ""


@EACH
def test_settings_of_the_kernel_are_read_only(who: str) -> None:
    script = """
    for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sysrq-trigger
    do (: >> $f) 2>/dev/null && echo "opened $f"; done
    find /sys /proc/sys -writable -type f 2>/dev/null | head -3
    awk '$2 ~ "^/proc/sys|^/sys" && $4 !~ "^ro" {print}' /proc/mounts"""
    assert shell(script, who=who).out == ""


@EACH
def test_every_mount_is_nosuid_and_all_but_devices_nodev(who: str) -> None:
    script = """
    awk '$4 !~ /nosuid/ {print "suid", $0}' /proc/self/mounts
    awk '$2 !~ "^/dev(/|$)" && $4 !~ /nodev/ {print "dev", $0}' /proc/self/mounts"""
    assert shell(script, who=who).out == ""


def test_the_top_of_the_tree_shows_only_what_is_known() -> None:
    names = set(shell("ls -A /").out.split())
    known = {
        "bin",
        "sbin",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "usr",
        "etc",
        "dev",
        "proc",
        "sys",
        "run",
        "tmp",
    }
    assert names <= known | {"var", "home", "nix", "gnu", ".covers"}


def test_host_folders_are_not_there() -> None:
    script = "ls -d /root /home/* /opt /srv /mnt /var/log /var/run /run/user /boot /lost+found 2>/dev/null"
    assert shell(script).out == "/home/agent\n"


def test_tmp_and_home_are_private_and_empty() -> None:
    with project() as folder:
        marker = Path("/tmp") / f"{folder.name}-marker"
        marker.touch()
        try:
            out = apart(lambda: run_here(plan(folder, ("/bin/sh", "-c", "ls -A /tmp $HOME; pwd")))).out
        finally:
            marker.unlink()
    assert marker.name not in out
    assert out.split() == ["/home/agent:", "/tmp:", folder.name, str(folder)]


def test_an_inner_read_grant_stays_read_only_in_a_writable_one() -> None:
    with project() as folder:

        def work() -> str:
            (folder / "vendor").mkdir()
            more = Grant(str(folder / "vendor"), Access.READ, "-read")
            what = plan(folder, ("/bin/sh", "-c", "echo x > vendor/y; echo x > y; ls"))
            return run_here(replace(what, grants=(*what.grants, more))).out

        assert apart(work).split() == ["vendor", "y"]


@EACH
def test_masked_protected_and_hidden_paths(who: str) -> None:
    def prepare(folder: Path) -> None:
        (folder / ".git" / "hooks").mkdir(parents=True)
        (folder / ".git" / "config").write_text("[core]")
        (folder / ".env").write_text("KEY=1")
        (folder / "secrets").mkdir()
        (folder / "secrets" / "a").write_text("a")
        (folder / "runs").mkdir()
        (folder / "runs" / "r.hark").write_text("r")

    script = """
    cat .env; ls secrets runs; cat secrets/a runs/r.hark; rm -f .env; mv .env x; echo x > .env
    echo x > .git/hooks/post-commit; echo x >> .git/config; rm .git/config
    mv .git .gone; mv .git/hooks .git/h
    chmod 644 .env; cat .git/config; echo ok > .git/index; cat .git/index; mkdir .git/new; ls .git"""
    result = contained(
        ("/bin/sh", "-c", script),
        who=who,
        prepare=prepare,
        masked=(".env", "secrets"),
        protected=(".git/hooks", ".git/config"),
        hidden=("runs",),
    )
    assert result.out.split() == ["[core]ok", "config", "hooks", "index", "new"]
    assert result.err.count("\n") >= 12
    assert result.facts is not None
    assert result.facts.uncovered == ()


def test_what_cannot_be_covered_is_reported() -> None:
    def prepare(folder: Path) -> None:
        (folder / "real").mkdir()
        (folder / "hooks").symlink_to("real")

    result = contained(
        ("/bin/true",), prepare=prepare, masked=("no.env",), protected=("hooks", "none"), hidden=("never",)
    )
    assert result.facts is not None
    assert [Path(path).name for path in result.facts.uncovered] == ["no.env", "hooks", "none", "never"]


@EACH
def test_nothing_is_mounted_on_a_host_that_shares_its_mounts(who: str) -> None:
    shared = 1 << 20

    with project(who) as folder:

        def work() -> tuple[Result, bool]:
            if os.geteuid() != 0:
                os.unshare(os.CLONE_NEWUSER)
            os.unshare(os.CLONE_NEWNS)
            kernel.mount("", "/", kernel.MS_REC | shared)
            if who != "root":
                become_ordinary()
            (folder / ".git" / "hooks").mkdir(parents=True)
            (folder / ".env").touch()
            (folder / "inner").mkdir()
            before = Path("/proc/self/mountinfo").read_text()
            what = plan(
                folder,
                ("/bin/true",),
                more=(Grant(str(folder / "inner"), Access.READ, "-read"),),
                masked=(str(folder / ".env"),),
                protected=(str(folder / ".git" / "hooks"),),
            )
            seen: list[str] = []
            result = run_here(what, during=lambda _b: seen.append(Path("/proc/self/mountinfo").read_text()))
            return result, "shared:" in before and seen == [before]

        result, unchanged = apart(work, who="root")
    if os.geteuid() == 0:
        assert result.ended == Ended(code=0), result.error
        assert unchanged


def test_paths_with_odd_characters_are_reported_whole() -> None:
    odd = "a\tb\nc"
    result = contained(("/bin/true",), prepare=lambda folder: (folder / odd).mkdir(), masked=(odd + "/x",))
    assert result.facts is not None
    assert [Path(path).parent.name for path in result.facts.uncovered] == [odd]


def test_what_no_grant_shows_needs_no_cover() -> None:
    result = contained(("/bin/true",), hidden=("../../root/.config/hark", "../elsewhere"))
    assert result.facts is not None
    assert result.facts.uncovered == ()


def test_a_masked_link_masks_what_it_leads_to() -> None:
    def prepare(folder: Path) -> None:
        (folder / "real.env").write_text("KEY=1")
        (folder / ".env").symlink_to("real.env")

    result = contained(("/bin/cat", ".env", "real.env"), prepare=prepare, masked=(".env",))
    assert "KEY" not in result.out
    assert result.ended == Ended(code=1)


def test_a_path_through_a_link_of_the_host_works_as_outside() -> None:
    with project() as folder:

        def work() -> str:
            (folder / "real").mkdir()
            (folder / "link").symlink_to(folder / "real")
            what = plan(
                folder / "link",
                ("/bin/sh", "-c", "pwd -P; pwd; echo x > y; ls"),
                workdir=str(folder / "link"),
            )
            return run_here(what).out

        assert apart(work).split()[0] == str(folder / "real")


def test_files_are_shown_in_place_read_only() -> None:
    result = shell(
        "cd /etc; cat resolv.conf new/file; echo x > resolv.conf; echo x > new/file; ls -A / | grep hark",
        files={"/etc/resolv.conf": b"nameserver 10.200.1.1\n", "/etc/new/file": b"new\n"},
    )
    assert result.out == "nameserver 10.200.1.1\nnew\n"


def test_a_file_that_cannot_be_shown_stops_the_start() -> None:
    result = shell("echo ran", files={"/usr/lib/no-such-folder/file": b""})
    assert (result.error_kind, result.out) == ("ConfinementError", "")
    assert "/usr/lib/no-such-folder/file" in result.error


def test_the_hosts_user_list_and_names_are_not_shown() -> None:
    result = shell("cut -d: -f1 /etc/passwd; cat /etc/hostname /proc/sys/kernel/hostname; ls /etc/shadow")
    assert result.out.split() == ["root", "agent", "nobody", "hark", "hark"]


@pytest.mark.parametrize(("kept", "said"), [({"hidden": ("keys/one",)}, "busy"), ({}, "moved")])
def test_the_folder_of_a_hidden_file_cannot_be_moved_so_that_another_stands_there(kept, said) -> None:
    def prepare(folder: Path) -> None:
        (folder / "keys").mkdir()
        (folder / "keys" / "one").write_text("a key that signs")

    script = "if mv keys old 2>/dev/null; then echo moved; else echo busy; fi"
    assert shell(script, prepare=prepare, **kept).out == f"{said}\n"
