"""`hark init`: a policy that works, and nothing overwritten."""

import pytest

from hark.plan.policy_file import load
from hark.policy.starters import STARTERS
from tests.hark.cli.program import hark


@pytest.mark.parametrize("agent", STARTERS)
def test_the_file_is_a_policy_and_the_command_names_it(tmp_path, agent):
    path = tmp_path / "p q.toml"
    code, out, err = hark("init", "--agent", agent, "-o", path)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"wrote {path}"
    assert out.splitlines()[-1] == f"hark run -policy '{path}' -- {STARTERS[agent].command}"
    assert load(str(path)).allow_hosts
    assert f"hark policy check '{path}'" in path.read_text()


def test_a_file_that_is_there_stays_as_it_is(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    for taken in (path, link):
        code, out, err = hark("init", "-agent", "codex", "-o", taken)
        assert (code, out) == (2, "")
        assert "overwrites nothing" in err
    assert path.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [((), "needs -agent NAME: claude-code"), (("-agent", "claude-kode"), "did you mean claude-code?")],
)
def test_an_agent_that_is_not_known_is_usage(words, sentence):
    code, out, err = hark("init", *words)
    assert (code, out) == (2, "")
    assert sentence in err


def test_a_name_that_would_break_the_file_is_not_written_into_it(tmp_path):
    path = tmp_path / "a\nb = 1\n.toml"
    assert hark("init", "-agent", "node", "-o", path).code == 0
    assert load(str(path)).allow_hosts


def test_the_usage_shows_that_the_agent_must_be_named():
    assert "hark init -agent NAME [-o FILE]" in hark("help", "init").out
