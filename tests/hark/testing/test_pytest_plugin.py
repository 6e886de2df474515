"""What the plugin says and where it looks, without a boundary; tests/e2e/test_pytest_plugin.py has one."""

import pytest

pytest_plugins = ["pytester"]


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


def test_a_way_that_is_none_is_refused(pytester: pytest.Pytester) -> None:
    assert pytester.runpytest("--hark-way=nowhere").ret == pytest.ExitCode.USAGE_ERROR
