"""Who may have a bundle forked, and what is refused before a start. Forks themselves are in tests/e2e."""

from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.errors import PatchError, TruncatedError, UntrustedError
from hark.fork.forking import Wanted, fork
from hark.rerun.replaying import Asked
from tests.support.recordings import bundle


class LaunchedError(Exception):
    """Something would have been started."""


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_plan: Any) -> None:
        raise LaunchedError

    monkeypatch.setattr("hark.fork.forking.launch", launch)


EXCHANGE = (
    ev.LlmRequest("api.example", "GET", "/", {}, exchange=1),
    ev.LlmResponseChunk(0, b"yes", exchange=1),
    ev.LlmResponseEnd(200, {}, 1, exchange=1),
)


def started(tmp_path: Path, *, seal: bool = True, trust: bool = False, **wanted: Any) -> None:
    """Ask for a fork; LaunchedError where it would have begun."""
    more = {} if seal else {"end": None}
    path = bundle(tmp_path / "run.hark", *EXCHANGE, seal=seal, **more)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    asked = Wanted(Asked(path, trust=trust), "last-request", **wanted)
    fork(asked, environ, say=lambda _: None, ask=None)


@pytest.mark.attack
def test_a_strangers_bundle_is_not_forked_and_a_policy_is_no_word_of_trust(tmp_path: Path) -> None:
    policy, ran = tmp_path / "own.toml", tmp_path / "ran"
    policy.write_text(
        'allow_hosts = ["api.example"]\n[secrets.TOKEN]\nhosts = ["api.example"]\n'
        f'command = ["/usr/bin/touch", "{ran}"]\n'
    )
    with pytest.raises(UntrustedError):
        started(tmp_path, policy=str(policy))
    assert not ran.exists()
    with pytest.raises(LaunchedError):
        started(tmp_path, policy=str(policy), trust=True)
    assert not ran.exists()  # the agent has no placeholder of it


def test_a_patch_that_matches_nothing_is_said_before_a_start(tmp_path: Path) -> None:
    with pytest.raises(PatchError):
        started(tmp_path, trust=True, patch=b'{"replace": "no", "with": "x"}')


def test_a_bundle_that_breaks_off_is_not_forked(tmp_path: Path) -> None:
    with pytest.raises(TruncatedError, match="killed, and is not forked; `hark replay -truncated` replays"):
        started(tmp_path, seal=False, trust=True)
