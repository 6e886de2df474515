"""The man page says what the program accepts: held against the commands' tables, both ways."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hark.cli import main

PAGE = Path(__file__).resolve().parents[3] / "docs" / "hark.1"


def sections():
    """Command -> options, as `-name VALUE`, of each section of the page."""
    _, commands = PAGE.read_text().split(".SH COMMANDS\n")
    found = {}
    for part in commands.split(".SH ")[0].split(".SS hark ")[1:]:
        name, body = part.split("\n", 1)
        lines = re.findall(r"^\.TP\n\.B (\\-.*)$", body, re.MULTILINE)
        found[name] = [re.sub(r"\\f[IR]", "", line).replace("\\-", "-") for line in lines]
    return found


def test_the_page_has_a_section_for_every_command_and_no_other():
    assert set(sections()) == set(main.COMMANDS)


@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_page_lists_exactly_the_options_of_the_command(name):
    spec = main.load(name).SPEC
    assert sections()[name] == [f"-{option.name} {option.value}".rstrip() for option in spec.options]


def test_every_line_of_the_examples_is_a_command_line_that_is_accepted():
    from hark.cli.spec import parse

    _, examples = PAGE.read_text().split(".SH EXAMPLES\n.nf\n")
    lines = examples.split(".fi")[0].replace("\\-", "-").splitlines()
    assert len(lines) > 3
    for line in lines:
        program, name, *words = line.split()
        assert program == "hark"
        assert not parse(main.load(name).SPEC, words).asks_help


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed on this machine")
def test_the_page_is_typeset_without_a_warning():
    words = ["groff", "-man", "-Tutf8", "-ww", str(PAGE)]
    done = subprocess.run(words, capture_output=True, check=True)
    assert done.stderr == b""
    assert "hark verify" in re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode())
