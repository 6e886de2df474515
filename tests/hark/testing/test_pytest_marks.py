"""What a marked test's bundle and command are, as the plugin knows them."""

from pathlib import Path

import pytest

from hark.testing import pytest_marks

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
    assert pytest_marks.bundle_of(item, marker) == Path(pytester.path) / where


def items_of(pytester: pytest.Pytester, source: str) -> list[pytest.Item]:
    pytester.makepyfile(test_it=source)
    found: list[pytest.Item] = pytester.inline_genitems()[0]
    return found


def test_a_command_names_one_test_whatever_group_xdist_sends_it_with(pytester: pytest.Pytester) -> None:
    mark = "@pytest.mark.hark\n@pytest.mark.xdist_group('g')\n"
    one, other = items_of(pytester, f"import pytest\n{mark}def test_a(): pass\n{mark}def test_b(): pass\n")
    assert pytest_marks.command_of(one)[1:-1] == pytest_marks.command_of(other)[1:-1]
    assert pytest_marks.command_of(one)[-1] == "test_it.py::test_a"
    name = type("Named", (), {"nodeid": "test_it.py::test_a[x@y]@g", "iter_markers": one.iter_markers})()
    assert pytest_marks.node_of(name) == "test_it.py::test_a[x@y]"  # as xdist names it


def test_nothing_is_recorded_unless_it_was_asked_for(pytester: pytest.Pytester, tmp_path: Path) -> None:
    (item,) = items_of(pytester, "import pytest\n@pytest.mark.hark\ndef test_a(): pass\n")
    there, missing = tmp_path / "there.hark", tmp_path / "missing.hark"
    there.touch()
    for mode, of_there, of_missing in (("once", False, True), ("all", True, True)):
        item.config.option.hark_record = mode
        assert (pytest_marks.is_recorded(item, there), pytest_marks.is_recorded(item, missing)) == (
            of_there,
            of_missing,
        )
    item.config.option.hark_record = "none"
    assert not pytest_marks.is_recorded(item, there)
    with pytest.raises(pytest_marks.HarkFailure, match="record it: pytest --hark-record=once"):
        pytest_marks.is_recorded(item, missing)


def test_the_verdict_is_the_first_line_of_a_failed_replay() -> None:
    said = ["a remark", "REPLAY-DIVERGED: other", "  by process 1"]
    lines = str(pytest_marks.failed(Path("it.hark"), said, "printed")).splitlines()
    assert lines == [said[1], "  in the replay of it.hark", said[0], said[2], "printed"]
    (first, *_) = str(
        pytest_marks.failed(Path("it.hark"), ["a remark", "it cannot be replayed"])
    ).splitlines()
    assert first == "it cannot be replayed"
    twice = ["not as recorded: a.py differs", "REPLAY-DIVERGED: x", "  not as recorded: a.py differs"]
    assert str(pytest_marks.failed(Path("it.hark"), twice)).count("a.py") == 1
    assert str(pytest_marks.failed(Path("it.hark"), [])).startswith("hark replay said nothing")
