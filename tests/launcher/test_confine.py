"""The agent's process in the moment of exec."""

import resource
from pathlib import Path

import pytest

from launcher import init
from launcher.plan import Plan
from tests.launcher.rig import WHO, apart, contained, plan, project, run_here, shell, without

pytestmark = pytest.mark.attack


@pytest.mark.parametrize("who", WHO)
def test_the_environment_is_exactly_the_plans(who: str) -> None:
    env = {"A": "1", "B": "zwei=zwei", "C": ""}
    result = contained(("/usr/bin/env",), who=who, env=env)
    assert result.out.splitlines() == ["A=1", "B=zwei=zwei", "C="]


def test_arguments_are_passed_byte_by_byte() -> None:
    words = ("a b", "", "\udcff", "ü", "*")
    result = contained(("/usr/bin/printf", "%s|", *words))
    assert result.out == "a b||\ufffd|ü|*|"


def test_the_agent_leads_its_own_group_and_not_process_1s() -> None:
    assert shell("cut -d' ' -f1,5 /proc/self/stat; echo $$").out.split()[1] == "2"


def test_no_core_is_dumped() -> None:
    def change() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    limit = "grep 'Max core' /proc/self/limits"
    said = shell(f"{limit}; ulimit -c 0 && {limit}; ulimit -H -c", change=change, who=WHO[-1]).out.split()
    assert " ".join(said) == "Max core file size 1 1 bytes Max core file size 1 1 bytes 0"


def test_a_program_that_is_a_folder_or_damaged_is_126() -> None:
    with project() as folder:

        def work() -> list[tuple[int | None, str]]:
            (folder / "sub").mkdir()
            broken = folder / "broken"
            broken.write_bytes(b"\x7fELF" + bytes(100))
            broken.chmod(0o755)
            found = []
            for name in ("sub", "broken"):
                result = run_here(plan(folder, (name,), executable=str(folder / name)))
                found.append((result.exit_code, result.error))
            return found

        folder_error, broken_error = apart(work)
    assert folder_error == (126, "sub: permission denied")
    # The kernel cannot run it, so it goes to the shell, which cannot either: that is the agent's own end.
    assert broken_error[0] in (None, 126)


def test_a_nul_in_an_argument_is_an_error_in_words() -> None:
    with project() as folder:
        what: Plan = plan(folder, ("/bin/echo", "a\0b"))
        result = apart(lambda: run_here(what))
    assert result.exit_code == 126
    assert result.error.startswith("/bin/echo: ")


def test_the_program_is_found_through_the_links_of_its_path() -> None:
    def prepare(folder: Path) -> None:
        (folder / "real").mkdir()
        script = folder / "real" / "tool"
        script.write_text("#!/bin/sh\necho ran\n")
        script.chmod(0o755)
        (folder / "tool").symlink_to("real/tool")

    with project() as folder:

        def work() -> str:
            prepare(folder)
            return run_here(plan(folder, ("tool",), executable=str(folder / "tool"))).out

        assert apart(work) == "ran\n"


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_a_machine_without_memory_ends_the_agent_before_the_supervisor(who: str) -> None:
    """An agent may take its word back, but no less than what the supervisor has."""
    place = "/proc/self/oom_score_adj"
    script = f"cat {place}; (echo -1000 > {place}) 2> /dev/null; cat {place}"
    first, last = map(int, shell(script, who=who).out.split())
    assert first == 1000
    assert last >= 0
    without_it = shell(script, who=who, change=without(init, "_die_first")).out.split()
    assert without_it[0] == Path(place).read_text().strip()
