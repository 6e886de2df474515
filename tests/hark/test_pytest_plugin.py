"""What the plugin says and where it looks, without a boundary; tests/e2e/test_pytest_plugin.py has one."""

from pathlib import Path

import pytest

from hark import pytest_plugin

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    ("name", "mark", "where"),
    [
        ("test_a", "hark", "bundles/test_it/test_a.hark"),
        ("test_a", "hark('x/y.hark')", "x/y.hark"),
        (
            "test_a",
            "hark()\n@pytest.mark.parametrize('v', ['../../etc'])",
            "bundles/test_it/test_a_.._.._etc_.hark",
        ),
    ],
)
def test_a_bundle_lies_beside_its_test(pytester: pytest.Pytester, name: str, mark: str, where: str) -> None:
    argument = "v" if "parametrize" in mark else ""
    pytester.makepyfile(test_it=f"import pytest\n@pytest.mark.{mark}\ndef {name}({argument}): pass")
    (item,) = pytester.inline_genitems()[0]
    marker = item.get_closest_marker("hark")
    assert marker is not None
    assert pytest_plugin.bundle_of(item, marker) == Path(pytester.path) / where


def test_without_a_bundle_a_test_fails_with_the_command_and_no_fixture_is_made(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.fixture
        def costly():
            open("made", "w").close()

        @pytest.mark.hark("x.hark")
        def test_a(costly): pass

        def test_unmarked(costly): pass
        """
    )
    found = pytester.runpytest("-p", "no:cacheprovider", "-k", "test_a")
    found.assert_outcomes(failed=1, deselected=1)
    found.stdout.fnmatch_lines(["*there is no bundle */x.hark; record it: pytest --hark-record=once *test_a"])
    found.stdout.no_fnmatch_line("*Traceback*")
    assert not (pytester.path / "made").exists()
    pytester.runpytest("-p", "no:cacheprovider", "-k", "unmarked").assert_outcomes(passed=1, deselected=1)
    assert (pytester.path / "made").exists()


def test_what_is_not_a_bundle_fails_in_the_words_of_the_replay(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="import pytest\n@pytest.mark.hark('x.hark')\ndef test_a(): pass")
    (pytester.path / "x.hark").write_text("no bundle")
    found = pytester.runpytest("-p", "no:cacheprovider")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*does not begin with HARK*"])
