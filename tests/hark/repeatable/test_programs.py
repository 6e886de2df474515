"""Which programs were executed, where an agent names any path it likes."""

import os
from pathlib import Path

import pytest
from blake3 import blake3

from hark.bundle.events import FsManifest, ShimReport
from hark.repeatable import programs
from hark.repeatable.programs import manifest
from launcher.plan import Access, Grant, Plan


def plan(folder: Path, **changes: object) -> Plan:
    grants = (Grant(str(folder), Access.WRITE, "project directory"),)
    return Plan(argv=("x",), executable="/x", workdir=str(folder), env={}, grants=grants, **changes)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "tool").write_bytes(b"tool")
    (tmp_path / "out").write_bytes(b"secret")
    return tmp_path / "in"


def only_report(paths: list[str], given: Plan) -> str:
    (report,) = manifest(paths, given)
    assert isinstance(report, ShimReport)
    return report.why


def test_a_program_in_a_grant_is_hashed(folder: Path) -> None:
    (event,) = manifest([f"{folder}/tool"], plan(folder))
    assert event == FsManifest({f"{folder}/tool": blake3(b"tool").digest()}, "programs")


def test_a_copy_shown_elsewhere_is_hashed_where_it_lies(folder: Path) -> None:
    grants = (Grant("/recorded/project", Access.WRITE, "project directory", source=str(folder)),)
    given = Plan(argv=("x",), executable="/x", workdir="/", env={}, grants=grants)
    (event,) = manifest(["/recorded/project/tool"], given)
    assert event == FsManifest({"/recorded/project/tool": blake3(b"tool").digest()}, "programs")


def test_no_path_leads_out_of_the_grants(folder: Path) -> None:
    (folder / "link").symlink_to("../out")
    (folder / "up").symlink_to("..")
    assert only_report([f"{folder}/../out"], plan(folder)) == "it is no plain path"
    assert only_report([str(folder.parent / "out")], plan(folder)) == "no grant shows it"
    for name in ("link", "up/out"):
        assert "symbolic links" in only_report([f"{folder}/{name}"], plan(folder))


def test_what_is_kept_from_the_agent_is_not_read(folder: Path) -> None:
    for kept in ("hidden", "masked"):
        assert (
            only_report([f"{folder}/tool"], plan(folder, **{kept: (str(folder),)}))
            == "it is kept from the agent"
        )


def test_nothing_waits_for_a_pipe_or_reads_a_device(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert only_report([f"{folder}/pipe"], plan(folder)) == "it is no regular file"
    assert only_report([str(folder)], plan(folder)) == "it is no regular file"


def test_a_name_that_no_file_can_have_is_told(folder: Path) -> None:
    assert "no such file" in only_report([f"{folder}/gone"], plan(folder))
    assert only_report([f"{folder}/{'x' * 5000}"], plan(folder)) == "file name too long"


def test_what_is_read_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_BYTES", 3)
    assert "too large" in only_report([f"{folder}/tool"], plan(folder))
    monkeypatch.setattr(programs, "MAX_BYTES", 30)
    monkeypatch.setattr(programs, "MAX_PROGRAMS", 1)
    _event, report = manifest([f"{folder}/tool"] * 3, plan(folder))
    assert report == ShimReport("programs", "the rest", "more than 1 programs were named")


def test_a_replays_copy_is_hashed_though_it_lies_among_what_is_harks_own(folder: Path) -> None:
    copy = folder / "copy"
    copy.mkdir()
    (copy / "tool").write_bytes(b"tool")
    grants = (Grant("/recorded/project", Access.WRITE, "project directory", source=str(copy)),)
    given = Plan(argv=("x",), executable="/x", workdir="/", env={}, grants=grants, hidden=(str(folder),))
    (event,) = manifest(["/recorded/project/tool"], given)
    assert event == FsManifest({"/recorded/project/tool": blake3(b"tool").digest()}, "programs")
    deeper = Plan(
        argv=("x",), executable="/x", workdir="/", env={}, grants=grants, hidden=(str(copy / "tool"),)
    )
    assert only_report(["/recorded/project/tool"], deeper) == "it is kept from the agent"
