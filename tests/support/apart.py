"""Run a check in a copy of this process that is alone: without threads and children of another test's."""

import gc
import os
import traceback
import warnings
from collections.abc import Callable


def in_a_copy(check: Callable[[], object]) -> None:
    """Fork, run `check` there, and raise AssertionError with its traceback if it raised."""
    told, tell = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the copy goes on in the one thread that it has
        child = os.fork()
    if not child:
        _to_its_end(check, tell)
    os.close(tell)
    with os.fdopen(told) as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, said or f"it ended with wait status {status}"


def _to_its_end(check: Callable[[], object], tell: int) -> None:
    code = 1
    try:
        gc.collect()
        gc.disable()  # what others left may hold descriptors, and let go of them at any moment
        check()
        code = 0
    except BaseException:  # it is told, and this process must not go on
        os.write(tell, traceback.format_exc().encode()[:60_000])
    finally:
        os._exit(code)
