"""The tiers: what is added up, and what makes one fail."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
import time
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
    assert "FAILED: stopped, over 3 times its budget" in capfd.readouterr().out


def test_pytest_that_is_stopped_names_its_failures(
    tiers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tiers, "GRACE_S", 300
    )  # on a busy machine it takes its time, and ends at once on others
    (tmp_path / "test_it.py").write_text(
        "import pathlib, time\n"
        "def test_that_fails(): assert not 'seen'\n"
        "def test_that_hangs():\n"
        f"    pathlib.Path({str(tmp_path)!r}, 'hanging').touch()\n"
        "    time.sleep(600)\n"
    )
    command = tiers.pytest("-n", "1", "-ra", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path))
    with tiers.start(command) as process:
        while not (tmp_path / "hanging").exists() and process.poll() is None:
            time.sleep(0.05)
        ended = threading.Event()
        stopping = threading.Thread(target=tiers.stop, args=(process, ended))
        stopping.start()
        out = process.stdout.read()
        assert process.wait() != 0
        ended.set()
        stopping.join()
    assert re.search(r"^FAILED \S+::test_that_fails", out, re.MULTILINE)


def test_what_does_not_heed_being_stopped_is_killed(
    tiers: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "GRACE_S", 0)
    deaf = "import signal, time; signal.signal(2, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    with tiers.start(script(deaf)) as process:
        assert process.stdout.readline() == "deaf\n"
        tiers.stop(process, threading.Event())
        assert process.wait() == -signal.SIGKILL


IGNORED = (
    "lines = open('/proc/self/status').readlines()\n"
    "print(next(line for line in lines if line.startswith('SigIgn')).split()[1], flush=True)"
)


@pytest.mark.parametrize("hears", [True, False])
def test_a_tier_begins_with_no_signal_ignored_whoever_started_it(hears: bool) -> None:
    program = (
        "import runpy, sys\n"
        f"tiers = runpy.run_path({str(SOURCE)!r})\n"
        f"if {hears}: tiers['hear']()\n"
        f"tiers['run']((sys.executable, '-c', {IGNORED!r}), 600, tiers['Tally']())\n"
        f"{IGNORED}"
    )
    nohup = "trap '' HUP INT QUIT TERM; exec \"$@\""
    shown = subprocess.run(
        ["sh", "-c", nohup, "sh", *script(program)], capture_output=True, text=True, check=True
    ).stdout
    child, itself = (int(mask, 16) for mask in shown.split())
    ours = sum(1 << number - 1 for number in (1, 2, 3, 15))
    assert child & ours == (0 if hears else ours)  # the control: it is inherited where nothing is done
    assert itself & ours == (0 if hears else ours)


def test_a_signal_that_was_ignored_does_not_end_the_tiers(tiers: ModuleType) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        tiers.hear()
        assert signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_tier_whose_set_up_fails_has_failed_and_the_next_runs(
    tiers: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = script("print('1 passed in 0.10s')")
    tiers.TIERS["bare"] = tiers.Tier(60, (ran,), set_up=script("raise SystemExit(1)"))
    tiers.TIERS["good"] = tiers.Tier(60, (ran,), set_up=script("print('set up')"))
    assert tiers.main(["bare", "good"]) == 1
    out = capfd.readouterr().out
    assert "--- bare: FAILED: it could not be set up, so nothing of it ran" in out
    assert ("set up" in out, out.splitlines()[-2]) == (True, "failed: bare")
    assert "1 passed in" in out.splitlines()[-1]


def test_clients_are_fetched_by_their_own_tier_and_by_nothing_before_it(tiers: ModuleType) -> None:
    assert [name for name, tier in tiers.TIERS.items() if tier.set_up] == ["clients"]
    rules = (SOURCE.parent.parent / "Makefile").read_text().splitlines()
    assert [line for line in rules if ".clients/.done" in line.partition(":")[2]] == []


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
