"""Help is complete: what the parser accepts, the help mentions, for every command there is."""

import pytest

from hark.cli import help as texts
from hark.cli import main, output
from tests.hark.cli.program import hark


@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_help_of_a_command_mentions_every_option_and_argument(name):
    spec = main.load(name).SPEC
    code, out, err = hark(name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: hark {name}")
    columns = [line[2:].split("  ")[0] for line in out.splitlines() if line.startswith("  ")]
    for option in spec.options:
        assert f"-{option.name} {option.value}".rstrip() in columns
    for place in spec.positionals:
        assert place.name in columns


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_way_to_ask_for_help_prints_the_same(name, capsys):
    said = set()
    for words in (["help", name], [name, "-h"], [name, "-help"], [name, "--help"], ["--help", name]):
        assert main.entry(words) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1


def test_the_overview_lists_every_command_with_its_summary_aligned():
    code, out, _ = hark()
    assert code == 0
    assert hark("help").out == hark("--help").out == hark("help", "help").out == out
    starts = set()
    for name in main.COMMANDS:
        (line,) = [line for line in out.splitlines() if line.startswith(f"  {name} ")]
        starts.add(line.index(main.load(name).SPEC.summary.split(" ")[0], len(name) + 2))
    assert len(starts) == 1


@pytest.mark.parametrize("name", main.COMMANDS)
def test_help_stays_within_its_width(name):
    assert max(map(len, texts.command(main.load(name).SPEC).splitlines())) <= output.TEXT_WIDTH


def test_help_for_a_command_that_does_not_exist_names_the_nearest():
    code, out, err = hark("help", "versoin")
    assert (code, out) == (2, "")
    assert "did you mean version?" in err
