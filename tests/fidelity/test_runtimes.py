"""Where a runtime is looked for: the system's first, and a fetched one where it lies."""

import sys
from pathlib import Path

import pytest

from fidelity.recording import Kit
from fidelity.sources import runtimes
from tests.support.user import User


def test_a_fetched_python_is_the_last_that_is_tried_and_is_shown_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "RUNTIMES", tmp_path)
    kit = Kit(User(65534, 65534, tmp_path, sys.executable, {}), None)
    assert runtimes.python("3.99", kit, tmp_path).missing == "no interpreter of this version is installed"
    fetched = tmp_path / "python" / "usr" / "bin" / "python3.99"
    fetched.parent.mkdir(parents=True)
    fetched.symlink_to(sys.executable)
    assert list(runtimes.candidates("3.99"))[-1] == fetched
    found = runtimes.python("3.99", kit, tmp_path)
    assert (found.argv[0], found.reads) == (str(fetched), (str(tmp_path / "python"),))
