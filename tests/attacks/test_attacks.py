"""Every registered attack is refused, and succeeds once its defence is gone: otherwise it proves nothing."""

import re
from pathlib import Path

import pytest

from tests.attacks.registry import Attack, Outcome, Verdict, all_attacks


@pytest.mark.attack
@pytest.mark.parametrize("one", all_attacks(), ids=str)
def test_attack_is_refused_and_succeeds_without_its_defence(one: Attack) -> None:
    defended = one.defended()
    assert defended.verdict is Verdict.REFUSED, defended.detail
    undefended = one.undefended()
    assert undefended.verdict is Verdict.SUCCEEDED, undefended.detail


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("noise\nREFUSED no\n", Verdict.REFUSED),
        ("SUCCEEDED", Verdict.SUCCEEDED),
        ("", Verdict.UNKNOWN),
        ("Traceback", Verdict.UNKNOWN),
    ],
)
def test_what_an_attack_did_not_say_is_unknown(text: str, verdict: Verdict) -> None:
    assert Outcome.said(text).verdict is verdict


def test_the_readme_says_what_each_trap_is_and_names_no_other() -> None:
    text = Path(__file__).with_name("README.md").read_text()
    explained = [int(number) for number in re.findall(r"^\| (\d+) \| .+ \|$", text, re.MULTILINE)]
    assert explained == sorted({one.trap for one in all_attacks()})
