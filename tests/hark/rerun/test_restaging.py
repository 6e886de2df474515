"""A bundle made into a plan: as recorded where that gives nothing away, and the caller's word elsewhere."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.errors import HarkError, PolicyError, ReplayError
from hark.plan.policy_file import OVERRULED
from hark.repeatable import determinism
from hark.repeatable.shim_library import NoLibraryError
from hark.rerun import restaging, throwaway
from hark.rerun.lending import Lent
from hark.rerun.recalled import Recalled, recall
from hark.rerun.restaging import Given, Staged, policy_of, refuse_hostile, stage
from hark.rerun.throwaway import Throwaway
from launcher import processors
from launcher.caller import Inherited
from launcher.plan import Access
from tests.support.recordings import BOUNDARY, ENV, PROJECT, bundle

REVIEWER = {"HOME": "/home/reviewer", "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": "/c"}


@pytest.fixture
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Throwaway]:
    with throwaway.folders(None, {"HOME": str(tmp_path_factory.mktemp("home"))}) as made:
        yield made


def staged(path: Path, folders: Throwaway, given: Given | None = None, **changes: Any) -> Staged:
    given = given or Given()
    run = recalled(path, **changes)
    refuse_hostile(run)
    state = {"XDG_STATE_HOME": str(path / "state")}  # a library may be built and kept there
    return stage(run, policy_of(run, given), given, folders, REVIEWER | state)


def recalled(path: Path, **changes: Any) -> Recalled:
    return recall(bundle(path / "run.hark", **changes))


def loaded(raw: bytes, source: str = "policy.toml", **more: Any) -> ev.PolicyLoaded:
    return ev.PolicyLoaded(source, raw=raw, **more)


SEEDED = ev.Determinism(b"s" * 32, ("clock preload",))


@pytest.mark.attack
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            (SEEDED, *[ev.Branch(seed=b"s" * 32)] * 126),
            "forked 126 times in one line, and hark takes",
        ),
        ((SEEDED, ev.Branch(wall_ns=-1, seed=b"s" * 32)), "went live at -1, which no clock"),
        (
            (SEEDED, ev.Branch(wall_ns=(1 << 63) - 1, seed=b"s" * 32)),
            "which no clock that hark reads has shown",
        ),
        ((SEEDED, ev.Branch(wall_ns=5)), "a seed where it began without, or the other way round"),
        ((ev.Branch(wall_ns=5, seed=b"s" * 32),), "a seed where it began without, or the other way round"),
    ],
    ids=range(5),
)
def test_a_branch_that_no_fork_of_harks_has_is_refused(
    tmp_path: Path, more: tuple[Any, ...], words: str
) -> None:
    run = recall(bundle(tmp_path / "run.hark", *more))
    with pytest.raises(ReplayError, match=words):
        refuse_hostile(run)


def test_branches_of_forks_of_forks_are_taken(tmp_path: Path) -> None:
    branches = [ev.Branch(wall_ns=number, seed=b"s" * 32) for number in range(125)]
    run = recall(bundle(tmp_path / "run.hark", SEEDED, *branches))
    refuse_hostile(run)
    assert run.branches == branches


def test_what_the_agent_sees_of_itself_is_as_recorded(tmp_path: Path, folders: Throwaway) -> None:
    plan = staged(tmp_path, folders).prepared.plan
    assert plan.argv == ("true",)
    assert plan.env == ENV
    assert (plan.workdir, plan.home, plan.seen_as) == (PROJECT, "/home/ann", (1000, 1000))
    assert not plan.terminal


def test_only_the_copy_and_the_system_are_granted(tmp_path: Path, folders: Throwaway) -> None:
    plan = staged(tmp_path, folders).prepared.plan
    written = [grant for grant in plan.grants if grant.access is Access.WRITE]
    assert [(grant.path, grant.source) for grant in written] == [(PROJECT, folders.project)]
    assert {grant.why for grant in plan.grants} <= {"system", "project directory", "needed by true"}


@pytest.mark.attack
def test_nothing_that_a_bundle_asks_for_is_granted(tmp_path: Path, folders: Throwaway) -> None:
    home = tmp_path / "home"
    home.mkdir()
    raw = f"""
        allow_hosts = ["api.example.com"]
        read_paths = ["{home}"]
        write_paths = ["{home}/out"]
        [secrets.TOKEN]
        command = ["touch", "{home}/was-run"]
        hosts = ["api.example.com"]
        [mcp.tools]
        command = ["touch", "{home}/was-run"]
        [[publish]]
        port = 8080
        at = "127.0.0.1:8080"
    """.encode()
    write = (PROJECT, f"{home}/out")
    prepared = staged(tmp_path, folders, policy=loaded(raw, write_paths=write)).prepared
    at_home = [grant for grant in prepared.plan.grants if grant.path.startswith(str(home))]
    assert [(grant.path, grant.access) for grant in at_home] == [(f"{home}/out", Access.WRITE)]
    assert at_home[0].source is not None
    assert os.listdir(at_home[0].source) == []
    assert os.listdir(home) == []
    assert prepared.secrets == ()  # what a broker would give away
    assert prepared.policy.publish == ()
    assert prepared.plan.published == (8080,)  # for what was said to it then, and is played into the agent
    (program,) = prepared.toolservers.programs
    assert (program.name, program.argv, dict(program.env)) == ("tools", (), {})
    assert "/run/hark/mcp/bin/tools" in prepared.plan.files
    assert prepared.upstreams == {}
    assert prepared.policy.raw == raw


def test_what_the_caller_grants_is_granted(tmp_path: Path, folders: Throwaway) -> None:
    (tmp_path / "data").mkdir()
    given = Given(read=(str(tmp_path / "data"),))
    plan = staged(tmp_path, folders, given).prepared.plan
    assert (str(tmp_path / "data"), Access.READ) in [(grant.path, grant.access) for grant in plan.grants]
    own = tmp_path / "own.toml"
    own.write_text(f'write_paths = ["{tmp_path}/data"]\n')
    run = staged(tmp_path, folders, Given(policy=str(own)), policy=loaded(b"", write_paths=("/home/x/y",)))
    assert [grant.path for grant in run.prepared.plan.grants if grant.access is Access.WRITE] == [
        PROJECT,
        str(tmp_path / "data"),
    ]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start": RunStart(working_dir="/etc", argv=("true",))}, "it ran in /etc"),
        ({"start": RunStart(working_dir="/proc/self", argv=("true",))}, "it ran in"),
        ({"start": RunStart(working_dir="project", argv=("true",))}, "it ran in project"),
        ({"start": RunStart(working_dir="/home/a/../../etc", argv=("true",))}, "it ran in"),
        ({"start": RunStart(working_dir="//etc", argv=("true",))}, "it ran in //etc"),
        ({"start": RunStart(started_at=-1, working_dir=PROJECT, argv=("true",))}, "it began at -1"),
        ({"start": RunStart(started_at=(1 << 63) - 1, working_dir=PROJECT, argv=("true",))}, "it began at"),
        ({"env": ev.EnvSnapshot(ENV | {"HOME": "//run/hark"})}, "its home directory"),
        ({"policy": loaded(b"", write_paths=("//usr/lib",))}, "its run could write //usr/lib"),
        ({"start": RunStart(working_dir=PROJECT, argv=("",))}, "no program can be started with"),
        ({"start": RunStart(working_dir=PROJECT, argv=("sh", "a\0b"))}, "no program can be started with"),
        ({"env": ev.EnvSnapshot({"A": "b\0c"})}, "no program can be started with"),
        ({"env": ev.EnvSnapshot({"A=B": "c"})}, "variable without a name"),
        ({"env": ev.EnvSnapshot(ENV | {"HOME": "../x"})}, "its home directory"),
        ({"env": ev.EnvSnapshot(ENV | {"HOME": "/run/hark/shim"})}, "its home directory"),
        ({"boundary": BOUNDARY._replace(uid=0)}, "which no agent of hark's does"),
        ({"boundary": BOUNDARY._replace(gid=1 << 40)}, "which no agent of hark's does"),
        ({"policy": loaded(b"", write_paths=("/usr/lib",))}, "its run could write /usr/lib"),
        ({"policy": loaded(b"", write_paths=("/",))}, "its run could write /"),
        ({"policy": loaded(b"no toml [")}, "its policy cannot be read"),
    ],
    ids=str,
)
def test_what_no_run_of_harks_had_is_refused(
    tmp_path: Path, folders: Throwaway, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ReplayError, match=words):
        staged(tmp_path, folders, **changes)


def test_a_recorded_overruling_stays_one_and_no_policy_stays_none(tmp_path: Path) -> None:
    run = recalled(tmp_path, policy=loaded(b"", f"none{OVERRULED}"))
    policy = policy_of(run, Given())
    assert policy.allow_all
    assert policy.source == "none"


def test_what_the_run_waited_for_its_replay_waits_for(tmp_path: Path, folders: Throwaway) -> None:
    assert not staged(tmp_path, folders).prepared.plan.wait_for_all
    waiting = staged(tmp_path, folders, boundary=BOUNDARY._replace(waits_for_all=True))
    assert waiting.prepared.plan.wait_for_all


def test_a_masked_file_stands_in_the_copy_without_its_content(tmp_path: Path, folders: Throwaway) -> None:
    withheld = (f"masked {PROJECT}/.env", f"masked {PROJECT}/deep/er/.npmrc", "masked /home/ann/.netrc")
    plan = staged(tmp_path, folders, boundary=BOUNDARY._replace(withheld=withheld)).prepared.plan
    assert plan.masked == (f"{PROJECT}/.env", f"{PROJECT}/deep/er/.npmrc")
    assert Path(folders.project, "deep/er/.npmrc").read_bytes() == b""


@pytest.mark.attack
def test_a_link_in_the_copy_has_nothing_written_elsewhere(tmp_path: Path, folders: Throwaway) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    Path(folders.project, "out").symlink_to(mine)
    withheld = (f"masked {PROJECT}/out/.env", f"masked {PROJECT}/../../../../{mine}/.env")
    staged(tmp_path, folders, boundary=BOUNDARY._replace(withheld=withheld))
    assert os.listdir(mine) == []


def test_what_will_be_missed_is_said(tmp_path: Path, folders: Throwaway) -> None:
    start = RunStart(working_dir=PROJECT, argv=("/opt/ann/bin/true",))
    notes = staged(tmp_path, folders, start=start, policy=loaded(b'read_paths = ["/opt/data"]')).notes
    assert any("/opt/ann/bin/true is not on this machine" in note for note in notes)
    assert any("could read /opt/data" in note and "-read" in note for note in notes)
    assert staged(tmp_path / ".", folders).notes == ()


def test_clock_and_randomness_that_cannot_be_had_again_are_refused_before_anything_starts(
    tmp_path: Path, folders: Throwaway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_environ: object, _writable: object) -> bytes:
        raise NoLibraryError("there is no C compiler")

    monkeypatch.setattr(determinism, "library", none)
    under_control = ev.Determinism(bytes(32), ("clock preload", "random preload", "aslr off"))
    with pytest.raises(
        ReplayError, match="cannot be here: there is no C compiler; a C compiler is needed, and"
    ):
        staged(tmp_path, folders, controlled=under_control)
    without = ev.Determinism(bytes(32), ("aslr off",))
    (note,) = (note for note in staged(tmp_path, folders, controlled=without).notes if "compiler" in note)
    assert "the agent may go another way" in note


def test_a_program_that_is_not_here_is_named(tmp_path: Path, folders: Throwaway) -> None:
    with pytest.raises(HarkError, match="what it ran is not on this machine"):
        staged(tmp_path, folders, start=RunStart(working_dir=PROJECT, argv=("no-such-agent",)))


NESTED = b"[sandbox]\nnested = true\n"


def test_a_nested_replay_is_prepared_as_its_run_was(tmp_path: Path, folders: Throwaway) -> None:
    recorded = ev.Determinism(seed=bytes(range(32)), mechanisms=("clock preload", "random preload"))
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    plain = staged(tmp_path / "one", folders, control=recorded).prepared
    nested = staged(tmp_path / "other", folders, control=recorded, policy=loaded(NESTED)).prepared
    assert (plain.plan.nested, plain.controlled.nested) == (False, False)
    assert (nested.plan.nested, nested.controlled.nested) == (True, True)


def test_a_nested_replay_is_lent_nothing_that_a_mask_would_have_to_keep_from_it(
    tmp_path: Path, folders: Throwaway, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = Lent(masked=[f"{PROJECT}/cache/.env"])
    monkeypatch.setattr(restaging, "lend", lambda *_args: lent)
    (tmp_path / "plain").mkdir()
    assert lent.masked[0] in staged(tmp_path / "plain", folders).prepared.plan.masked
    with pytest.raises(PolicyError, match=r"nested = true cannot keep .*/cache/\.env"):
        staged(tmp_path, folders, policy=loaded(NESTED))


@pytest.mark.attack
@pytest.mark.parametrize("counts", [(1 << 20, 4), (4, 0), (4, 1 << 63)])
def test_counts_of_processors_that_no_machine_has_are_refused(
    tmp_path: Path, folders: Throwaway, counts: tuple[int, int]
) -> None:
    processors, online = counts
    told = BOUNDARY._replace(processors=processors, online=online)
    with pytest.raises(ReplayError, match=f"told of {processors} processors of {online}, and no machine"):
        staged(tmp_path, folders, boundary=told)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("umask", "ignored"),
    [
        ("22", ()),
        ("-022", ()),
        ("07777", ()),
        ("0o22", ()),
        ("", ("SIGHUP",)),
        ("0022", ("SIGKILL",)),
        ("0022", ("9",)),
    ],
)
def test_what_no_agent_begins_with_is_refused(
    tmp_path: Path, folders: Throwaway, umask: str, ignored: tuple[str, ...]
) -> None:
    with pytest.raises(ReplayError, match="and none does"):
        staged(tmp_path, folders, boundary=BOUNDARY._replace(umask=umask, ignored=ignored))


def test_the_umask_is_the_recorded_one_where_there_is_one(tmp_path: Path, folders: Throwaway) -> None:
    told = staged(tmp_path, folders, boundary=BOUNDARY._replace(umask="0077", ignored=("SIGINT", "SIGHUP")))
    assert told.prepared.plan.inherits == Inherited(0o077, (1, 2))
    (tmp_path / "old").mkdir()
    assert staged(tmp_path / "old", folders).prepared.plan.inherits is None


def test_processors_are_shown_as_recorded_where_this_machine_has_others(
    tmp_path: Path, folders: Throwaway
) -> None:
    """And said to be others where a nested agent asks the kernel itself."""
    for name in ("same", "other", "nested"):
        (tmp_path / name).mkdir()
    own = processors.here()
    same = BOUNDARY._replace(processors=own.usable, online=own.online)
    other = BOUNDARY._replace(processors=own.usable + 1, online=own.online + 2)
    plan = staged(tmp_path / "same", folders, boundary=same).prepared.plan
    assert plan.processors is None
    assert "/proc/stat" not in plan.files
    plan = staged(tmp_path / "other", folders, boundary=other).prepared.plan
    assert plan.processors == (own.usable + 1, own.online + 2)
    assert plan.files["/sys/devices/system/cpu/online"] == f"0-{own.online + 1}\n".encode()
    nested = staged(tmp_path / "nested", folders, boundary=other, policy=loaded(NESTED))
    assert nested.prepared.plan.processors is None
    assert f"its agent had {own.usable + 1} processors and has {own.usable} here" in " ".join(nested.notes)
