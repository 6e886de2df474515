"""The caller's own limits: what a run cannot do without is refused in words, what it gets by with is not."""

import os
import resource
import tempfile

import pytest

from hark.errors import ConfinementError
from launcher import doctor, least
from launcher.least import LEAST, check_limits
from tests.launcher.rig import apart, shell
from tests.support.user import ROOT


@pytest.mark.parametrize(("name", "option", "what", "least"), LEAST)
def test_less_than_the_least_is_refused_with_the_command_that_raises_it(
    name: str, option: str, what: int, least: int
) -> None:
    def ask(limit: int) -> str:
        resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))
        try:
            check_limits()
        except ConfinementError as error:
            return str(error)
        return ""

    words = f"the limit of {name} is {least - 1} and has to be {least}: raise it with ulimit -{option}"
    assert apart(lambda: ask(least - 1)) == words
    assert apart(lambda: ask(least)) == ""


def test_the_page_on_platforms_names_what_is_asked_for():
    page = (ROOT / "docs" / "platforms.md").read_text()
    files, processes, size = (least for _, _, _, least in LEAST)
    assert f"| {files} open files, {processes} processes, files of {size >> 20} MiB |" in page
    assert f"| {doctor._LEAST_FREE >> 20} MiB free for the record, " in page


def _hard_core_limit_of_none(pattern: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(f"{pattern}\n")
    least.PATTERN = file.name  # type: ignore[misc]


DUMPS = "grep core /proc/self/limits; kill -SEGV $$"


@pytest.mark.attack
def test_a_caller_whose_core_dumps_are_forbidden_for_good_can_run_agents() -> None:
    result = shell(DUMPS, change=lambda: _hard_core_limit_of_none("core"))
    assert result.error == ""
    assert result.out.split()[4:6] == ["0", "0"]


@pytest.mark.attack
def test_where_a_crash_would_start_a_program_of_the_hosts_all_the_same_nothing_is_run() -> None:
    result = shell(DUMPS, change=lambda: _hard_core_limit_of_none("|/usr/lib/catch %p"))
    assert result.error.startswith(
        "core dumps are limited to 0 bytes, at which a crash inside starts /usr/lib/catch"
    )
    assert result.out == ""


def _may_raise() -> bool:
    with open("/proc/self/status") as file:
        held = next(line.split()[1] for line in file if line.startswith("CapEff:"))
    return bool(int(held, 16) >> 24 & 1)  # CAP_SYS_RESOURCE, which root in a container may lack


@pytest.mark.attack
@pytest.mark.skipif(os.geteuid() != 0, reason="only root raises a limit")
def test_root_raises_the_limit_to_where_nothing_is_started() -> None:
    result = shell(DUMPS, who="root", change=lambda: _hard_core_limit_of_none("|/usr/lib/catch %p"))
    if _may_raise():
        assert result.out.split()[4:6] == ["1", "1"]
    else:
        assert "limited to 0 bytes" in result.error
