"""Where the allow-list comes from: no call that is traced lacks a verdict."""

import shutil
import subprocess

import pytest

from launcher.syscalls import ALLOWED, JUDGED, MISSING, NESTED
from launcher.traced import TRACED
from tests.launcher.rig import PATH, apart, contained, project
from tests.traces.__main__ import FILE, HEAD, render
from tests.traces.programs import NESTING, PROGRAMS, Program
from tests.traces.record import calls, missing

DECIDED = ALLOWED | JUDGED | MISSING | NESTED
QUICK = [program for program in PROGRAMS if program.quick]


def test_every_named_program_was_traced_and_the_file_is_as_the_tool_writes_it() -> None:
    seen = {call: set(programs.split()) for call, programs in TRACED.items()}
    assert set.union(*seen.values()) == {program.name for program in PROGRAMS}
    assert FILE.read_text() == render(seen)
    assert FILE.read_text().startswith(HEAD)


def test_what_only_nesting_programs_call_is_not_allowed_to_the_others() -> None:
    only = {call for call, programs in TRACED.items() if set(programs.split()) <= {*NESTING, "codex"}}
    assert set(NESTED) <= only
    assert "unshare" in JUDGED


@pytest.mark.slow
@pytest.mark.parametrize("program", QUICK, ids=lambda program: program.name)
def test_a_fresh_trace_makes_no_call_that_nobody_has_decided_about(program: Program) -> None:
    if lacking := missing(program):
        pytest.skip(f"{', '.join(lacking)} is not installed")
    fresh = calls(program)
    assert {"execve", "mmap", "read", "write"} <= fresh, "the trace is empty: it proves nothing"
    assert fresh <= set(DECIDED), sorted(fresh - set(DECIDED))
    assert fresh & set(MISSING) <= {"clone3", "pidfd_open", "memfd_create"}
    assert not fresh & set(NESTED)


@pytest.mark.slow
def test_a_call_outside_of_the_list_is_found_by_a_trace() -> None:
    odd = Program("odd", ("python3",), "python3 -c 'import ctypes; ctypes.CDLL(None).syscall(250, 0, -3, 1)'")
    if missing(odd):
        pytest.skip("strace is not installed")
    assert calls(odd) - set(DECIDED)


@pytest.mark.attack
@pytest.mark.slow
@pytest.mark.parametrize("program", QUICK, ids=lambda program: program.name)
def test_a_traced_program_ends_inside_as_it_does_outside(program: Program) -> None:
    if lacking := [name for name in program.needs if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(lacking)} is not installed")
    with project() as folder:

        def outside() -> int:
            argv = ["/bin/sh", "-c", program.script]
            return subprocess.run(
                argv, cwd=folder, capture_output=True, env={"PATH": PATH}, check=False
            ).returncode

        expected = apart(outside)
    inside = contained(("/bin/sh", "-c", program.script))
    assert inside.ended is not None, inside.error
    assert inside.ended.status == expected, inside.err[-2000:]
    assert "not permitted" not in inside.err
