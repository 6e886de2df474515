"""Removing old runs: only those that have ended, and only those that were not to be kept."""

import os
import time

import pytest

from hark.bundle.store import ensure_runs_directory
from hark.ids import ulid
from tests.hark.cli import sample
from tests.hark.cli.program import hark
from tests.hark.cli.test_ls import kept

DAY = 86400


@pytest.fixture
def env(tmp_path):
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def runs(env):
    """Ten days, five days, one day and an hour old; the oldest still runs, the second was killed."""
    directory = ensure_runs_directory(env)
    paths = []
    for age in (10 * DAY, 5 * DAY, DAY, 3600):
        path, about = kept(directory, age, time.time_ns())
        if age == 10 * DAY:
            writer = sample.opened(path, **about)
        elif age == 5 * DAY:
            sample.opened(path, **about).close()
        else:
            sample.write(path, **about)
        paths.append(path)
    yield paths
    writer.close()


def left(paths):
    return [os.path.exists(path) for path in paths]


def test_the_newest_are_kept_and_a_running_one_is_never_touched(env, runs):
    code, out, _ = hark("gc", "--keep", "1", env=env)
    assert code == 0
    assert left(runs) == [True, False, False, True]
    lines = out.splitlines()
    assert lines[0].startswith(f"removed {os.path.basename(runs[1])[:-5]}  killed")
    assert lines[-1].startswith("2 runs removed, 2 left; freed ")
    hark("gc", "--keep", "0", env=env)
    assert left(runs) == [True, False, False, False]


def test_an_age_keeps_what_is_younger(env, runs):
    assert hark("gc", "-keep", "2d", env=env).code == 0
    assert left(runs) == [True, False, True, True]
    hark("gc", "-keep", "30m", env=env)
    assert left(runs) == [True, False, False, False]


def test_a_dry_run_says_the_same_and_removes_nothing(env, runs):
    out = hark("gc", "-keep", "0", "-dry-run", env=env).out
    assert left(runs) == [True] * 4
    assert out.count("would remove ") == 3
    assert "3 runs to remove, 1 left; would free " in out


def test_what_is_no_bundle_and_what_is_no_run_stays(env, runs):
    directory = os.path.dirname(runs[0])
    others = [f"{directory}/notes.txt", f"{directory}/mine.hark", f"{directory}/{ulid(0, bytes(10))}.hark"]
    for path in others:
        with open(path, "w") as file:
            file.write("mine")
    hark("gc", "-keep", "0", env=env)
    assert left(others) == [True] * 3


@pytest.mark.parametrize("words", [[], ["-keep", "some"], ["-keep", "-1"], ["-keep", "3y"], ["-keep="]])
def test_without_a_sensible_keep_nothing_is_removed(env, runs, words):
    code, out, err = hark("gc", *words, env=env)
    assert (code, out) == (2, "")
    assert "-keep" in err
    assert left(runs) == [True] * 4
