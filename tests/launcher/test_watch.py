"""When a run is over: with the agent's first process, or with its last where that was asked for."""

import signal
import time
from pathlib import Path

import pytest

from launcher.report import Ended
from launcher.supervise import Boundary
from tests.launcher.rig import python, shell
from tests.support.waiting import until

pytestmark = pytest.mark.attack

DAEMON = "(setsid sh -c 'sleep 0.5; echo late > late' &); exit 3"


def test_by_default_the_first_process_ends_the_run_and_what_was_left_is_counted() -> None:
    assert shell("sleep 60 & sleep 60 & exit 3").ended == Ended(code=3, left=2)


def test_a_run_that_waits_for_all_lasts_until_a_daemon_has_ended_and_keeps_the_first_ones_code() -> None:
    waited = shell(DAEMON, wait_for_all=True)
    assert waited.ended == Ended(code=3)
    program = (
        "import os, time\nif os.fork() == 0:\n os.setsid()\n time.sleep(0.5)\n print('late', flush=True)\n"
    )
    assert python(program, wait_for_all=True).out == "late\n"
    assert python(program.replace("0.5", "60")).out == ""


def test_a_helper_that_ends_by_itself_is_not_counted_as_ended_by_us() -> None:
    program = "import os\nr, w = os.pipe()\nif os.fork() == 0:\n os.close(w)\n os.read(r, 1)\n os._exit(0)\n"
    assert python(program).ended == Ended(code=0)


def test_what_only_waits_to_be_collected_is_not_waited_for() -> None:
    child = "if os.fork() == 0:\n if os.fork() == 0:\n  os._exit(0)\n time.sleep(0.3)\n os._exit(0)\n"
    program = f"import os, time\n{child}"
    assert python(program, wait_for_all=True).ended == Ended(code=0)


def test_who_waits_for_the_rest_can_stop_waiting() -> None:
    def interrupt(boundary: Boundary) -> None:
        import threading

        def late() -> None:
            until(Path(boundary._plan.workdir, "over").exists)
            time.sleep(0.5)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

        threading.Thread(target=late, daemon=True).start()

    script = "trap '' TERM; setsid sh -c 'while :; do sleep 1; done' & echo > over; exit 0"
    ended = shell(script, wait_for_all=True, during=interrupt).ended
    assert ended is not None
    assert (ended.code, ended.interrupted) == (0, signal.SIGTERM)
    assert ended.left > 0
