"""What is told at a run's end, and in which order; what it takes from a real boundary is in tests/e2e."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hark.plan import project
from hark.plan.disarming import PutAside
from hark.policy.model import Policy
from hark.repeatable.determinism import Determinism
from hark.running.left import Left
from hark.running.parting import EXIT_NOT_FOUND, Parting
from launcher.report import Ended
from mediator.ledger import Denied, Summary

HERE = 18999
NOTHING = Summary()
DENIED = Summary(denied=(Denied("evil.example", 443, "tls", 1, "evil.example"),))


def told(
    folder: Path,
    found: Summary = NOTHING,
    code: int = 0,
    argv: tuple[str, ...] = (),
    *,
    left: Left | None = Left(),  # noqa: B008
    **ended: Any,
) -> list[str]:
    """What is said of a run in a folder with a masked `.env`, and what is shown, behind `show: `."""
    (folder / ".env").touch()
    masked = (str(folder / ".env"),)
    prepared: Any = SimpleNamespace(
        policy=Policy(),
        plan=SimpleNamespace(workdir=str(folder), argv=argv, env={}, published=()),
        project=project.Project(str(folder), masked, (), (str(folder / "Makefile"),)),
        controlled=Determinism(),
        unseen=("/opt/tool/bin",),
    )
    lines: list[str] = []
    parting = Parting(
        prepared,
        Policy(),
        None,
        None,
        lines.append,
        lambda line: lines.append(f"show: {line}"),
        left,
    )
    parting.tell(found, Ended(code=code, **ended), {}, {}, code)
    return lines


def place_of(lines: list[str], words: str) -> int:
    (place,) = [number for number, line in enumerate(lines) if words in line]
    return place


def test_an_agent_that_failed_in_a_part_of_a_git_repository_is_told_of_the_whole(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep/er").mkdir(parents=True)
    words = f"a part of the git repository {tmp_path}, "
    assert place_of(told(tmp_path / "deep/er", code=1), words) >= 0
    ended_well, at_its_top = told(tmp_path / "deep/er"), told(tmp_path, code=1)
    again = told(tmp_path / "deep/er", code=1, left=None)
    assert not any("git repository" in line for line in (*ended_well, *at_its_top, *again))


def test_a_policy_that_was_named_too_late_is_told_where_something_was_denied(tmp_path: Path) -> None:
    words = "-policy stands behind the command, which was given it"
    late, other = ("agent", "-policy", "p.toml"), ("agent", "policy", "--policy-file=x")
    assert place_of(told(tmp_path, DENIED, 1, late), words) >= 0
    assert place_of(told(tmp_path, DENIED, 0, ("agent", "--policy=p.toml")), "--policy=p.toml stands") >= 0
    for found, argv in ((NOTHING, late), (DENIED, other)):
        assert not any("stands behind the command" in line for line in told(tmp_path, found, 1, argv))


def test_what_would_allow_a_denial_is_shown_last_and_can_be_pasted(tmp_path: Path) -> None:
    lines = told(tmp_path, DENIED, 1)
    assert "evil.example" in lines[0]
    shown = [line for line in lines if line.startswith("show: ")]
    assert any("evil.example" in line for line in shown)
    assert lines[-len(shown) :] == shown
    assert not any(line.startswith("show: ") for line in told(tmp_path))  # the control


def test_a_service_of_this_machine_that_the_command_names_is_told_where_the_run_failed(
    tmp_path: Path,
) -> None:
    asks = ("curl", f"http://localhost:{HERE}/")
    lines = told(tmp_path, code=7, argv=asks)
    assert place_of(lines, "agent's own loopback") + 1 == place_of(lines, "show: [[allow]]")
    assert lines[-1] == f'show: upstream = "127.0.0.1:{HERE}"'
    assert not any("loopback" in line for line in told(tmp_path, argv=asks))


def test_what_is_masked_is_named_only_where_the_run_failed(tmp_path: Path) -> None:
    assert any(".env" in line for line in told(tmp_path, code=3))
    assert not any(".env" in line for line in told(tmp_path))


def test_what_was_not_found_is_told_by_its_exit_code(tmp_path: Path) -> None:
    assert any("/opt/tool/bin" in line for line in told(tmp_path, code=EXIT_NOT_FOUND))
    assert not any("/opt/tool/bin" in line for line in told(tmp_path, code=1))


def test_paths_are_named_as_the_project_has_them(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n")
    lines = told(tmp_path, replaced=(str(tmp_path / "a" / "key"),), refused=("chrome",))
    assert place_of(lines, "Makefile") < place_of(lines, os.path.join("a", "key")) < place_of(lines, "chrome")
    assert not any(str(tmp_path) in line for line in lines)


def test_of_a_copy_that_is_thrown_away_nothing_is_said_that_others_might_act_on(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n")
    assert any("Makefile" in line for line in told(tmp_path))
    assert not any("Makefile" in line for line in told(tmp_path, left=None))


def test_a_project_that_cannot_be_looked_through_is_said_and_the_rest_is_told(tmp_path: Path) -> None:
    lines = told(tmp_path, DENIED, left=Left(unsearched="too many files"))
    assert "not all of what the agent made was looked through: too many files" in lines
    assert any("evil.example" in line for line in lines)


def test_what_was_put_aside_is_told_once_and_what_could_not_be_too(tmp_path: Path) -> None:
    hooks, config = f"{tmp_path}/sub/.git/hooks", f"{tmp_path}/sub/.git/config"
    aside = (PutAside(hooks, f"{hooks}.kept-by-hark"), PutAside(config, ""))
    lines = told(tmp_path, left=Left({hooks: 1, config: 1}, aside=aside))
    (line,) = [line for line in lines if "sub/.git/hooks" in line]
    assert "it is called sub/.git/hooks.kept-by-hark now" in line
    assert any("sub/.git/config: it could not be renamed" in line for line in lines)
    assert sum("sub/.git/config" in line for line in lines) == 2
