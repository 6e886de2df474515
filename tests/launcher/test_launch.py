"""The fork that begins a boundary."""

import threading

import pytest

from launcher.launch import launch
from tests.launcher.rig import apart, plan, project


@pytest.mark.attack
def test_launch_refuses_a_process_with_threads() -> None:
    def work() -> str:
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        try:
            with project("root") as folder:
                launch(plan(folder, ("/bin/true",)))
        except RuntimeError as error:
            return str(error)
        finally:
            stop.set()
            thread.join()
        return "launched"

    assert "before the first thread" in apart(work)
