"""The forked child of the launcher's tests: one that hangs is ended, told with its stack, and tried again."""

import time
import warnings
from pathlib import Path

import pytest

from tests.launcher import rig


def test_a_child_that_hangs_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig, "HUNG_S", 1)
    tmp_path.chmod(0o777)
    mark = tmp_path / "tried"

    def work() -> int:
        if not mark.exists():
            mark.touch()
            time.sleep(60)
        return 5

    with warnings.catch_warnings(record=True, action="always") as seen:
        assert rig.apart(work, who="root") == 5
        with pytest.raises(rig.HungError):
            rig.apart(lambda: time.sleep(60), who="root")
    hung = [str(one.message) for one in seen if one.category is UserWarning]
    assert [text.partition(":")[0] for text in hung] == ["a forked child hung for 1 s"] * 2
    assert all("test_rig.py" in text for text in hung)
