"""A pytest inside says at its end how its test ended, whatever it is told to print, and only then."""

import pytest

from hark.testing.pytest_inside import outcome_in

pytest_plugins = ["pytester"]

ENDS = [
    ("pass", "passed"),
    ("print('x', end='')", "passed"),
    ("assert False", "failed"),
    ("pytest.skip()", "skipped"),
    ("pytest.xfail()", "failed as expected"),
    ("pytest.exit('x', 0)", ""),
    ("import os; os._exit(0)", ""),
]


@pytest.mark.parametrize(
    "words", [(), ("-s",), ("-qq",), ("-v", "--color=yes"), ("--capture=sys",), ("-r", "A")]
)
@pytest.mark.parametrize(("body", "outcome"), ENDS)
def test_it_says_how_a_test_ended(
    pytester: pytest.Pytester, body: str, outcome: str, words: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_it=f"import pytest\n@pytest.mark.hark\ndef test_a():\n    {body}\n")
    plugins = ("-p", "no:cacheprovider", "--hark-inside", "-q")
    done = pytester.runpytest_subprocess(*plugins, *words, "test_it.py::test_a")
    assert outcome_in(done.stdout.str()) == outcome


@pytest.mark.parametrize(
    ("fixture", "outcome"),
    [
        ("assert False", "failed"),
        ("yield; assert False", "failed"),
        ("pytest.skip()", "skipped"),
        ("yield", "passed"),
    ],
)
def test_what_a_fixture_does_counts(pytester: pytest.Pytester, fixture: str, outcome: str) -> None:
    pytester.makepyfile(
        test_it=f"import pytest\n@pytest.fixture\ndef made():\n    {fixture}\ndef test_a(made): pass\n"
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--hark-inside", "-q")
    assert outcome_in(done.stdout.str()) == outcome


def test_a_pytest_that_is_not_inside_says_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_a(): pass")
    assert outcome_in(pytester.runpytest_subprocess("-q").stdout.str()) == ""
