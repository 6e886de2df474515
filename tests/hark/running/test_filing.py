"""The files of a run on its record."""

from dataclasses import replace
from pathlib import Path

import pytest

from hark.bundle.events import FileResult, FsManifest, ShimReport, Snapshot
from hark.plan.preparation import Options, Prepared, prepare
from hark.running.filing import Files
from hark.snapshot.stored import put_together
from mediator.credentials import Broker

VALUE = "sk-test-0123456789abcdefghij"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "home" / "app"
    place.mkdir(parents=True)
    (place / "a.py").write_text("print(1)\n")
    (place / ".env").write_text(f"KEY={VALUE}\n")
    (place / "notes").write_text(f"the key is {VALUE}\n")
    return place


def prepared(project: Path, policy: str = "", **options: object) -> Prepared:
    (project.parent / "p.toml").write_text(
        f'allow_hosts = ["api.example"]\n{policy}[secrets.KEY]\nenv = "REAL"\n'
    )
    environ = {"HOME": str(project.parent), "PATH": "/usr/bin:/bin", "REAL": VALUE}
    asked = Options(("/bin/true",), policy=str(project.parent / "p.toml"), workdir=str(project), **options)  # type: ignore[arg-type]
    return prepare(asked, environ, terminal=False)


def files(ready: Prepared, *, keep: bool = True, beside: tuple[str, ...] = ()) -> Files:
    made = Files(ready, Broker(ready.secrets), keep=keep, beside=beside)
    made.begin()
    return made


def test_the_project_is_on_the_record_without_what_is_masked_or_secret(project: Path):
    made = files(prepared(project))
    events = list(made.opening())
    stored = put_together(events, str(project))
    assert list(stored.entries) == ["a.py"]
    assert stored.left_out == {".env": "masked", "notes": "holds the value of secrets.KEY"}
    assert isinstance(events[-1], Snapshot)
    assert VALUE.encode() not in b"".join(repr(event).encode() for event in events)
    assert list(made.said()) == []
    (project / "a.py").write_text("print(2)\n")
    assert [event.path for event in made.closing() if isinstance(event, FileResult)] == ["a.py"]


def test_a_file_with_a_secret_that_the_agent_can_read_is_told_before_it_starts(project: Path):
    (project / ".gitignore").write_text("local.json\nbuild\n")
    (project / "local.json").write_text(f'{{"key": "{VALUE}"}}')
    made = files(prepared(project))
    stored = put_together(made.opening(), str(project))
    (line,) = made.warned()
    assert "the value of secrets.KEY in the project, in notes, local.json; move it out, or" in line
    assert '`mask = ["notes", "local.json"]` under [project]' in line
    assert (VALUE in line, stored.left_out["local.json"]) == (False, "ignored by git")
    made = files(prepared(project, '[project]\nmask = ["notes", "local.json"]\n'))
    stored = put_together(made.opening(), str(project))
    assert (list(made.warned()), stored.left_out["notes"]) == ([], "masked")


def test_without_a_snapshot_there_are_hashes_and_results(project: Path):
    made = files(prepared(project), keep=False)
    assert {type(event) for event in made.opening()} == {FsManifest}
    assert list(made.said()) == []
    (project / "a.py").unlink()
    assert list(made.closing()) == [FileResult("a.py", 0, b"")]


def test_a_project_that_is_too_large_is_told_with_what_to_do(project: Path):
    made = files(prepared(project, '[snapshot]\nmax = "5B"\n'))
    assert [type(event) for event in made.opening()][-1] is ShimReport
    (line,) = made.said()
    assert line.startswith("nothing of the project was kept for a replay: it has")
    assert "raise max, or name what may be left out with exclude, in [snapshot] of the policy" in line


def test_what_is_excluded_is_neither_kept_nor_compared(project: Path):
    made = files(prepared(project, '[snapshot]\nexclude = ["a.*"]\n'))
    stored = put_together(made.opening(), str(project))
    assert stored.left_out["a.py"] == "excluded by the policy"
    (project / "a.py").unlink()
    (project / "a.c").write_text("x")
    assert list(made.closing()) == []


def test_a_copy_leaves_room_for_the_run_in_a_bundle_of_bounded_size(project: Path):
    (project / "noise").write_bytes(b"".join(n.to_bytes(4) * 7 for n in range(99_999, 400_000, 7)))
    ready = prepared(project, "[record]\nmax_bytes = 1048576\n")
    made = files(ready)
    small = [event for event in made.opening() if isinstance(event, Snapshot)]
    kept = sum(len(event.data) for event in small)
    assert kept <= 1048576 // 2
    if not small:
        assert "too many for record.max_bytes of 1048576" in next(iter(made.said()))


def test_the_bundle_itself_is_no_part_of_the_project(project: Path):
    made = files(prepared(project), beside=(str(project / "out.hark"),))
    list(made.opening())
    (project / "out.hark").write_text("x")
    assert list(made.closing()) == []


def test_a_project_that_cannot_be_read_ends_nothing(project: Path):
    ready = prepared(project)
    project.rename(project.parent / "moved")
    made = files(ready)
    (report,) = made.opening()
    assert isinstance(report, ShimReport)
    assert (report.source, report.what) == ("files", "the project as it was")
    assert list(made.closing()) == []
    assert next(iter(made.said())).startswith("the project was not recorded")


def test_a_copy_at_the_projects_place_is_recorded_as_that_project(project: Path, tmp_path: Path):
    """A replay begins with the same manifest, by the path that the agent sees."""
    ready = prepared(project)
    elsewhere = tmp_path / "copy"
    project.rename(elsewhere)
    grants = tuple(
        replace(grant, source=str(elsewhere)) if grant.path == str(project) else grant
        for grant in ready.plan.grants
    )
    made = files(replace(ready, plan=replace(ready.plan, grants=grants)))
    stored = put_together(made.opening(), str(project))
    assert (list(stored.entries), stored.left_out[".env"]) == (["a.py"], "masked")
    (elsewhere / "b").write_text("x")
    assert [event.path for event in made.closing() if isinstance(event, FileResult)] == ["b"]


def test_patterns_too_many_to_be_obeyed_keep_nothing_off_the_record_and_are_told(project: Path):
    """The control has some thousand, which are obeyed."""
    (project / ".gitignore").write_text("".join(f"{number}*\n" for number in range(10_000)))
    (project / "1x").touch()
    made = files(prepared(project))
    stored = put_together(made.opening(), str(project))
    assert {"a.py", "1x"} <= stored.entries.keys()
    assert list(made.warned())
    (line,) = made.said()
    assert line.startswith(".gitignore: patterns that are too many")
    (project / ".gitignore").write_text("".join(f"{number}*\n" for number in range(1_000)))
    made = files(prepared(project))
    stored = put_together(made.opening(), str(project))
    assert "a.py" in stored.entries
    assert "1x" not in stored.entries
    assert not list(made.said())
