"""Fixtures and rules for all tests."""

import signal
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.host import what_is_missing
from tests.support.user import User, ordinary_user

# A slow machine is no failure: neither of a test, nor of making up what it is tried on.
settings.register_profile(
    "hark", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("hark")

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    # What nohup and a shell's `&` ignore is ignored by all that is started, and much of it is sent signals.
    if signal.getsignal(number) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(number, lambda *_: None)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Number what is binary: it may hold the time, or a key, and workers must find the same tests."""
    if not isinstance(val, bytes) or (val.isascii() and val.decode().isprintable()):
        return None
    return f"{argname}-bytes"  # pytest puts a number behind those that are alike


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests of tiers `attack` and `e2e` fail where the host cannot run them; they are never skipped."""
    if item.get_closest_marker("attack") or item.get_closest_marker("e2e"):
        missing = what_is_missing()
        if missing:
            pytest.fail(missing, pytrace=False)


@pytest.fixture(scope="session")
def unprivileged() -> Iterator[User]:
    """An ordinary user with a Python that has hark: see tests.support.user."""
    with ordinary_user() as user:
        yield user
