"""The list of runs, as text and as JSON."""

import json

import pytest

from hark.bundle import events as ev
from hark.bundle.store import ensure_runs_directory
from hark.ids import ulid
from tests.hark.cli import sample
from tests.hark.cli.program import hark

SECOND = 1_000_000_000


@pytest.fixture
def env(tmp_path):
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "TZ": "UTC"}


@pytest.fixture
def runs(env):
    return ensure_runs_directory(env)


def kept(runs, age, now=sample.CREATED_AT):
    """The path of a run that began `age` seconds before `now`, and its arguments for `sample`."""
    started = now - age * SECOND
    run_id = ulid(started, bytes(10))
    return f"{runs}/{run_id}.hark", {"run_id": run_id, "created_at": started}


def test_runs_are_listed_newest_first_with_their_state_and_command(env, runs):
    path, about = kept(runs, 100)
    sample.write(path, **about)
    path, about = kept(runs, 50)
    sample.opened(path, **about).close()
    path, about = kept(runs, 10)
    with sample.opened(path, **about):
        code, out, err = hark("ls", env=env)
        records = [json.loads(line) for line in hark("ls", "--json", env=env).out.splitlines()]
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["RUN", "STARTED", "STATE", "SIZE", "COMMAND"]
    assert [line.split()[4] for line in lines[1:]] == ["running", "killed", "sealed"]
    assert all(line.endswith("python agent.py") for line in lines[1:])
    assert lines[3].split()[1:4] == ["2025-08-17", "03:05:00", "+0000"]
    assert [record["state"] for record in records] == ["running", "killed", "sealed"]
    assert records[0]["path"] == path
    assert records[0]["command"] == ["python", "agent.py"]
    assert records[0]["started_at_ns"] == about["created_at"]


def test_a_file_that_is_no_bundle_is_listed_as_unreadable(env, runs):
    with open(f"{runs}/{ulid(0, bytes(10))}.hark", "wb") as file:
        file.write(b"junk")
    code, out, _ = hark("ls", env=env)
    assert (code, "unreadable" in out) == (0, True)


def test_no_runs_is_said_and_no_error(env):
    code, out, err = hark("ls", env=env)
    assert (code, out) == (0, "")
    assert err == f"hark: no runs in {env['XDG_STATE_HOME']}/hark/runs\n"
    assert hark("ls", "--json", env=env) == (0, "", "")


def test_a_command_line_with_escapes_is_shown_and_not_sent(env, runs):
    path, about = kept(runs, 1)
    start = sample.EVENTS[0]._replace(argv=("sh", sample.HOSTILE))
    sample.write(path, (start, *sample.EVENTS[1:]), **about)
    for words in (["ls"], ["ls", "--json"]):
        assert hark(*words, env=env).out.replace("\n", "").isprintable()


def test_a_replay_is_listed_as_one(env, runs):
    path, about = kept(runs, 1)
    said = ev.Determinism(b"s" * 32, ("aslr off",), b"r" * 32)
    sample.write(path, (*sample.EVENTS[:2], said, *sample.EVENTS[2:]), **about)
    assert hark("ls", env=env).out.splitlines()[1].endswith("  REPLAY python agent.py")
    (record,) = [json.loads(line) for line in hark("ls", "--json", env=env).out.splitlines()]
    assert record["replayed"] == "72" * 32
    assert record["command"] == ["python", "agent.py"]


def test_a_fork_is_listed_as_one_though_its_beginning_was_replayed(env, runs):
    path, about = kept(runs, 1)
    said = ev.Determinism(b"s" * 32, ("aslr off",), b"p" * 32)
    sample.write(path, (*sample.EVENTS[:2], said, *sample.EVENTS[2:]), lineage=sample.FORK, **about)
    assert hark("ls", env=env).out.splitlines()[1].endswith("  FORK python agent.py")
    (record,) = [json.loads(line) for line in hark("ls", "--json", env=env).out.splitlines()]
    assert record["fork"] == sample.FORK.record()
