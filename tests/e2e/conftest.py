"""Every end-to-end test runs twice: as an ordinary user, and as root where the tests are run by root."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, desk
from tests.support.user import User

WHO = ("ordinary user", "root") if os.geteuid() == 0 else ("ordinary user",)


def root_like(unprivileged: User) -> User:
    """Root, with the interpreter that the tests run on, and otherwise an environment as of that user."""
    home = os.environ.get("HOME", "/root")
    env = dict(unprivileged.env) | {"USER": "root", "LOGNAME": "root", "HOME": home}
    env["PATH"] = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    return User(0, 0, Path(home), sys.executable, env)


@pytest.fixture(params=WHO)
def who(request: pytest.FixtureRequest, unprivileged: User) -> User:
    """The user who runs hark."""
    return unprivileged if request.param == "ordinary user" else root_like(unprivileged)


@pytest.fixture
def at(who: User) -> Iterator[Desk]:
    """A desk of that user's."""
    with tempfile.TemporaryDirectory(prefix="hark-e2e-") as name, desk(who, Path(name)) as made:
        yield made


@pytest.fixture
def rootless(unprivileged: User) -> Iterator[Desk]:
    """A desk of the ordinary user's, for what does not depend on who runs it."""
    with tempfile.TemporaryDirectory(prefix="hark-e2e-") as name, desk(unprivileged, Path(name)) as made:
        yield made
