"""Who may have a bundle run, and what is refused before a start. Replays themselves are in tests/e2e."""

from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.errors import ConfinementError, HarkError, ReplayError, UntrustedError, UsageError
from hark.rerun import trusted
from hark.rerun.admitting import ALWAYS, ONCE
from hark.rerun.replaying import Asked, replay
from hark.rerun.restaging import Given
from launcher.report import NotExecutableError, NotFoundError
from tests.support.recordings import PROJECT, RUN, STARTED, bundle
from tests.support.rerecorded import STRANGER


class LaunchedError(Exception):
    """Something would have been started."""


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_plan: Any) -> None:
        raise LaunchedError

    monkeypatch.setattr("hark.rerun.replaying.launch", launch)


def started(tmp_path: Path, said: list[str] | None = None, answer: str | None = None, **asked: Any) -> None:
    """Ask for a replay; LaunchedError where it would have begun."""
    path = asked.pop("bundle", None) or bundle(tmp_path / "run.hark")
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ask = None if answer is None else lambda _name: answer
    heard = [] if said is None else said
    replay(Asked(path, **asked), environ, say=heard.append, ask=ask)


@pytest.mark.attack
def test_a_strangers_bundle_is_shown_and_not_run(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(UntrustedError, match=r"hark trust .*--trust-bundle.*-policy") as refused:
        started(tmp_path, said)
    assert refused.value.exit_code == 4
    assert any(line.startswith("  command") for line in said)
    assert any("in none of your lists" in line for line in said)


@pytest.mark.parametrize("way", ["word", "policy", "list", "own list", "once", "always"])
def test_it_is_run_by_whoever_says_so(tmp_path: Path, way: str) -> None:
    policy, keys = tmp_path / "own.toml", tmp_path / "keys"
    policy.write_text("")
    keys.write_text(f"{STRANGER.public_key.hex()} ann\n")
    ways: dict[str, dict[str, Any]] = {
        "word": {"trust": True},
        "policy": {"given": Given(policy=str(policy))},
        "list": {"trusted_keys": str(keys)},
        "own list": {},
        "once": {"answer": ONCE},
        "always": {"answer": ALWAYS},
    }
    environ = {"HOME": str(tmp_path)}
    if way == "own list":
        trusted.add(environ, STRANGER.public_key, "ann")
    with pytest.raises(LaunchedError):
        started(tmp_path, **ways[way])
    assert (STRANGER.public_key in trusted.known(environ)) == (way in ("own list", "always"))


@pytest.mark.attack
@pytest.mark.parametrize("answer", ["", "no", "y\x1b"])
def test_any_other_answer_is_no(tmp_path: Path, answer: str) -> None:
    with pytest.raises(UntrustedError):
        started(tmp_path, answer=answer)
    with pytest.raises(UntrustedError):
        started(tmp_path, bundle=bundle(tmp_path / "unsigned.hark", key=None), answer=ALWAYS)


def test_the_callers_own_bundle_is_run_without_a_word(tmp_path: Path) -> None:
    from hark import keys

    key, _ = keys.user_key({"HOME": str(tmp_path)})
    said: list[str] = []
    with pytest.raises(LaunchedError):
        started(tmp_path, said, bundle=bundle(tmp_path / "mine.hark", key=key))
    assert said == []


def test_files_that_are_in_no_copy_are_asked_for(tmp_path: Path) -> None:
    path = bundle(tmp_path / "run.hark", ev.FsManifest({"agent.py": bytes(32)}, PROJECT))
    with pytest.raises(ReplayError, match=r"no copy of its project .*-workdir DIR"):
        started(tmp_path, bundle=path, trust=True)
    (tmp_path / "mine").mkdir()
    with pytest.raises(LaunchedError):
        started(tmp_path, bundle=path, trust=True, given=Given(workdir=str(tmp_path / "mine")))


def test_a_test_that_was_recorded_in_its_own_process_has_no_project_to_be_replayed_on(tmp_path: Path) -> None:
    marked = {"run_id": RUN, "started_at": STARTED, "working_dir": PROJECT, "argv": ("true",)}
    path = bundle(tmp_path / "run.hark", start=RunStart(**marked, uncontained="the test's own process"))
    with pytest.raises(ReplayError, match=r"no copy of its project .*-workdir DIR"):
        started(tmp_path, bundle=path, trust=True)


def test_nothing_is_left_of_a_replay_that_was_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="-keep"):
        started(tmp_path, trust=True, keep=str(tmp_path))
    with pytest.raises(LaunchedError):
        started(tmp_path, trust=True, keep=str(tmp_path / "kept"))


@pytest.mark.attack
def test_a_bundle_that_is_swapped_while_its_reader_thinks_is_not_run(tmp_path: Path) -> None:
    def written(name: str, data: bytes) -> str:
        return bundle(tmp_path / name, ev.Input("stdin", data), ev.Input("stdin", b"", end=True))

    path, other = written("run.hark", b"what was shown"), written("other.hark", b"what was not")

    def ask(_name: str) -> str:
        Path(other).replace(path)
        return ONCE

    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    with pytest.raises(ReplayError, match="was changed while it was read"):
        replay(Asked(path), environ, say=lambda _line: None, ask=ask)


@pytest.mark.parametrize("failed", [NotFoundError, NotExecutableError, ConfinementError])
def test_a_command_that_cannot_be_started_here_is_not_replayable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: type[HarkError]
) -> None:
    def launch(*_plan: Any) -> None:
        raise failed("sh: its interpreter is not inside the boundary")

    monkeypatch.setattr("hark.rerun.replaying.launch", launch)
    with pytest.raises(ReplayError, match="not inside the boundary") as refused:
        started(tmp_path, trust=True)
    assert refused.value.exit_code == 4
