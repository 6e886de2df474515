"""One fork and its check: what does not say yes has not passed. A script stands for `hark fork`."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hark.compare import trial as module
from hark.compare.trial import FAILED, LATE, NOT_CHECKED, NOT_FORKED, PASSED, Row, Wanted, trials
from tests.hark.compare.test_measured import ask, branch
from tests.support.recordings import bundle


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wanted:
    """A fork whose program makes the copy that it was told to keep, and prints what ANSWER holds."""
    program = tmp_path / "python"
    script = """#!/bin/sh
echo "$@" > "$ARGS"
for word; do case "$word" in -keep=*) mkdir "${word#-keep=}";; esac; done
echo "hark: first" >&2; echo "printed by the agent" >&2; echo "hark: last words" >&2
printf '%s' "$ANSWER"
exit ${CODE:-0}
"""
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    folder = tmp_path / "copies"
    folder.mkdir()
    return Wanted("large", "1-large", ("-at=9",), "run.hark", str(folder), None, None, {})


def told(tmp_path: Path, wanted: Wanted, verdict: object, code: int = 0) -> Row:
    answer = verdict if isinstance(verdict, str) else json.dumps(verdict)
    about = {"ARGS": str(tmp_path / "args"), "ANSWER": answer, "CODE": str(code)}
    [row] = trials([wanted], 1, {**os.environ, **about}, lambda wanted, row: None)
    return row


def forked(tmp_path: Path, *happened: Any) -> dict[str, Any]:
    path = bundle(tmp_path / "fork.hark", branch("response", 9), *(happened or ask(1, "large")))
    return {"verdict": "FORKED", "bundle": path, "why": None}


def test_a_fork_is_told_its_model_its_copy_and_what_all_share(tmp_path: Path, wanted: Wanted) -> None:
    row = told(tmp_path, replace(wanted, output="/out/1.hark"), forked(tmp_path))
    words = (tmp_path / "args").read_text().split()
    assert words[:4] == ["-P", "-m", "hark.cli.main", "fork"]
    assert words[4:] == [
        "-json", "-at=9", "-model=large", f"-keep={wanted.copy}", "-o=/out/1.hark", "--", "run.hark",
    ]  # fmt: skip
    assert (row.word, row.check, row.passed) == ("FORKED", None, True)
    assert row.measured is not None
    assert row.measured.spent.calls == 1


@pytest.mark.parametrize(
    ("command", "result", "code", "why"),
    [
        ("true", PASSED, 0, ""),
        ("exit 3", FAILED, 3, ""),
        ("no-such-program", FAILED, 127, ""),
        ("kill -KILL $$", FAILED, -9, "the check was ended by signal SIGKILL"),
        ("sleep 30", FAILED, None, "the check took longer than 2 s and was ended"),
    ],
)
def test_a_check_passes_by_exit_code_0_alone(
    tmp_path: Path,
    wanted: Wanted,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    result: str,
    code: int,
    why: str,
) -> None:
    monkeypatch.setattr(module, "MAX_CHECK_S", 2 if code is None else 60)
    row = told(tmp_path, replace(wanted, check=command), forked(tmp_path))
    assert (row.check, row.check_code, row.why, row.passed) == (result, code, why, result == PASSED)


def test_a_check_works_in_the_copy_and_knows_whose_it_is(tmp_path: Path, wanted: Wanted) -> None:
    check = 'echo "$HARK_MODEL"; echo "$HARK_BUNDLE"; pwd; cat'
    assert told(tmp_path, replace(wanted, check=check), forked(tmp_path)).passed
    said = Path(f"{wanted.copy}.check.log").read_text().splitlines()
    assert said == ["large", str(tmp_path / "fork.hark"), wanted.copy]
    assert os.stat(f"{wanted.copy}.check.log").st_mode & 0o077 == 0


def test_a_copy_that_is_not_there_has_not_passed(tmp_path: Path, wanted: Wanted) -> None:
    Path(sys.executable).write_text('#!/bin/sh\nprintf "%s" "$ANSWER"\n')
    row = told(tmp_path, replace(wanted, check="true"), forked(tmp_path))
    assert (row.check, row.why) == (FAILED, "the check could not be started: No such file or directory")


def test_what_diverged_is_not_checked_and_keeps_its_bundle(tmp_path: Path, wanted: Wanted) -> None:
    there = {**forked(tmp_path), "verdict": "FORK-DIVERGED", "why": "it asked for something else"}
    row = told(tmp_path, replace(wanted, check="true"), there, 1)
    assert (row.word, row.check, row.passed, row.code) == ("FORK-DIVERGED", NOT_CHECKED, False, 1)
    assert (row.why, row.bundle) == ("it asked for something else", there["bundle"])


@pytest.mark.parametrize("answer", ["", "no json", "[]", "{}", '{"verdict": 3}'])
def test_a_fork_without_a_verdict_says_the_last_that_hark_said(
    tmp_path: Path, wanted: Wanted, answer: str
) -> None:
    row = told(tmp_path, replace(wanted, check="true"), answer, 4)
    assert (row.word, row.why, row.check, row.code) == (NOT_FORKED, "last words", NOT_CHECKED, 4)
    assert not row.passed


def test_a_bundle_that_cannot_be_measured_has_not_passed(tmp_path: Path, wanted: Wanted) -> None:
    path = bundle(tmp_path / "run.hark", *ask(1, "x"))
    row = told(tmp_path, wanted, {"verdict": "FORKED", "bundle": path})
    assert not row.passed
    assert "is not the bundle of a fork" in row.why


def test_a_fork_that_takes_too_long_has_no_verdict_and_no_check(tmp_path: Path, wanted: Wanted) -> None:
    Path(sys.executable).write_text('#!/bin/sh\n[ "$CODE" = 0 ] || sleep 60\nprintf "%s" "$ANSWER"\n')
    hung = told(tmp_path, replace(wanted, check="true", seconds=1), forked(tmp_path), 1)
    assert (hung.word, hung.why, hung.check, hung.passed) == (LATE, "no answer in 1 s", NOT_CHECKED, False)
    (tmp_path / "fork.hark").unlink()
    quick = told(tmp_path, replace(wanted, name="2", seconds=60), forked(tmp_path))
    assert (quick.word, quick.passed) == ("FORKED", True)


def test_rows_come_in_the_order_that_was_asked_for_and_so_many_run_at_a_time(
    tmp_path: Path, wanted: Wanted
) -> None:
    mark = tmp_path / "second"
    script = f"""#!/bin/sh
case "$*" in *-keep=*/1*) while ! [ -e {mark} ]; do sleep 0.05; done;; esac
printf '%s' "$ANSWER"
"""
    Path(sys.executable).write_text(script)
    asked = [replace(wanted, model=f"m{number}", name=f"{number}") for number in (1, 2, 3)]
    about = {**os.environ, "ANSWER": json.dumps({"verdict": "FORK-DIVERGED"})}
    told_of: list[str] = []

    def tell(wanted: Wanted, row: Row) -> None:
        told_of.append(wanted.model)
        mark.touch()  # the first waits for the end of another

    rows = trials(asked, 2, about, tell)
    assert [row.model for row in rows] == ["m1", "m2", "m3"]
    assert told_of[0] == "m2"  # there is no room for the third
    assert sorted(told_of) == ["m1", "m2", "m3"]


def test_what_ends_the_command_ends_its_forks(tmp_path: Path, wanted: Wanted) -> None:
    script = f"""#!/bin/sh
case "$*" in *-keep=*/1*) echo $$ > {tmp_path}/pid; exec sleep 60;; esac
while ! [ -s {tmp_path}/pid ]; do sleep 0.05; done
"""
    Path(sys.executable).write_text(script)

    def interrupt(wanted: Wanted, row: Row) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trials([replace(wanted, name="1"), replace(wanted, name="2")], 2, os.environ, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
