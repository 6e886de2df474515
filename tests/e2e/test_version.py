"""What the installed program says of itself, and of options that it has not."""

import sys

import pytest

import hark
from tests.e2e.rig import Desk, ok

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("words", [("-V",), ("--version",), ("-version",), ("version",)])
def test_it_says_its_version_and_what_a_report_of_a_fault_needs(rootless: Desk, words: tuple[str, ...]):
    ended = ok(rootless.hark(*words))
    first, of_format, python, kernel = ended.stdout.splitlines()
    assert first == f"hark {hark.__version__}"
    assert of_format == "bundle format 1"
    assert python.startswith(f"{sys.implementation.name} ")
    assert kernel.startswith("Linux ")
    assert ended.stderr == ""


@pytest.mark.parametrize("option", ["-V", "--version"])
@pytest.mark.parametrize("command", ["verify", "replay", "inspect"])
def test_a_command_has_no_such_option_and_says_which_it_has(rootless: Desk, command: str, option: str):
    rootless.write("any.hark", b"HARK")
    ended = ok(rootless.hark(command, option, "any.hark"), 2)
    assert f"hark {command} has no option -{option.lstrip('-')} (`hark help {command}` lists" in ended.stderr
    assert ended.stdout == ""


def test_hark_in_hark_says_its_version_and_why_it_cannot_contain_anything(rootless: Desk):
    command = ("--", rootless.user.python, "-m", "hark.cli.main")
    assert ok(rootless.run(*command, "-V")).stdout.startswith(f"hark {hark.__version__}\n")
    rootless.bundle.unlink()
    refused = ok(rootless.run(*command, "run", "--", "true"), 125)
    assert "hark: this kernel or container refuses" in refused.stderr
    assert "Traceback" not in refused.stderr
