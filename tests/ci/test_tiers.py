"""The tiers: what is added up, and what makes one fail."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[2] / ".ci" / "tiers.py"


@pytest.fixture
def tiers() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("tiers_under_test", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def script(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def test_closing_lines_of_all_tiers_are_added_up(tiers: ModuleType) -> None:
    tally = tiers.Tally()
    tally.read("3 failed, 20 passed, 1 warning in 4.03s")
    tally.read("==== 5 passed, 7 deselected, 2 errors in 62.00s (0:01:02) ====")
    tally.read("no tests ran in 0.01s")
    tally.read("the agent passed 9 passed tests in 2.00s")
    assert tally.closing_line(1.0).strip("= ") == "3 failed, 25 passed, 1 warnings, 2 error in 1.00s"


def test_nothing_counted_closes_as_pytest_does(tiers: ModuleType) -> None:
    assert tiers.Tally().closing_line(0.5).strip("= ") == "no tests ran in 0.50s"


@pytest.mark.parametrize(("second", "status"), [("raise SystemExit(0)", 0), ("raise SystemExit(5)", 1)])
def test_a_tier_passes_only_if_every_command_does(tiers: ModuleType, second: str, status: int) -> None:
    tiers.TIERS["mine"] = tiers.Tier(60, (script("pass"), script(second)))
    assert tiers.main(["mine"]) == status


def test_a_failed_tier_does_not_keep_the_next_from_running(
    tiers: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    tiers.TIERS["bad"] = tiers.Tier(60, (script("print('1 failed in 0.10s'); raise SystemExit(1)"),))
    tiers.TIERS["good"] = tiers.Tier(60, (script("print('4 passed in 0.20s')"),))
    assert tiers.main(["bad", "good"]) == 1
    *_, failed, closing = capfd.readouterr().out.splitlines()
    assert failed == "failed: bad"
    assert "1 failed, 4 passed in" in closing


def test_a_tier_that_hangs_is_stopped_and_has_failed(
    tiers: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    tiers.TIERS["hung"] = tiers.Tier(0, (script("import time; time.sleep(60)"),))
    assert tiers.main(["hung"]) == 1
    assert "stopped as hanging" in capfd.readouterr().out


def test_a_tier_over_its_budget_is_told_so_and_passes(
    tiers: ModuleType, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 40))
    monkeypatch.setattr(tiers.time, "monotonic", lambda: next(clock))
    tiers.TIERS["slow"] = tiers.Tier(60, (script("pass"),))
    assert tiers.main(["slow"]) == 0
    assert "over its budget of 60 s" in capfd.readouterr().out


def test_the_unit_tier_runs_offline_and_the_tiers_share_all_tests(tiers: ModuleType) -> None:
    (command,) = tiers.TIERS["unit"].commands
    assert command[1].endswith("offline.py")
    names = ("unit", "attack", "e2e", "clients")
    selections = [command[-1] for name in names for command in tiers.TIERS[name].commands]
    unit = "not attack and not e2e and not slow and not clients"
    assert selections == [unit, "(attack or slow) and not e2e", "e2e", "clients"]
