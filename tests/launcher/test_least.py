"""The caller's own limits: what a run cannot do without is refused in words, what it gets by with is not."""

import resource

import pytest

from hark.errors import ConfinementError
from launcher import doctor
from launcher.least import LEAST, check_limits
from tests.launcher.rig import apart
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
