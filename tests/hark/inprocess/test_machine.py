"""Programs that say something of the machine: its own, and none that is only called so."""

import os
from pathlib import Path

import pytest

from hark.inprocess.machine import Machine

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/ann", "LD_LIBRARY_PATH": "/opt/lib"}


@pytest.fixture
def evil(tmp_path: Path) -> str:
    """A folder with a program that is called uname."""
    (tmp_path / "uname").symlink_to("/bin/true")
    return str(tmp_path)


def test_the_machines_own_may_be_started_by_name_and_by_path() -> None:
    machine = Machine(ENVIRON)
    for name in ("uname", "/bin/uname", "/usr/bin/uname"):
        assert machine.has(name, ENVIRON)
    assert machine.has("uname", {b"PATH": b"/usr/bin", b"LD_LIBRARY_PATH": b"/opt/lib"})
    assert not machine.has("true", ENVIRON)


@pytest.mark.attack
def test_a_program_that_is_only_called_so_is_not_the_machines(evil: str) -> None:
    machine = Machine(ENVIRON)
    assert not machine.has(f"{evil}/uname", ENVIRON)
    assert not machine.has("uname", ENVIRON | {"PATH": f"{evil}:/usr/bin"})
    assert machine.has("uname", ENVIRON | {"PATH": f"/usr/bin:{evil}"})  # the control
    assert not machine.has("uname", ENVIRON | {"PATH": ":/usr/bin"})  # the current directory's
    assert not machine.has("./uname", ENVIRON)
    assert not machine.has("/bin/sh -c /bin/uname", ENVIRON)


@pytest.mark.attack
@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "GCONV_PATH", "PYTHONPATH", "ENV"]
)
def test_what_loads_other_code_into_it_is_refused(name: str) -> None:
    assert not Machine(ENVIRON).has("uname", ENVIRON | {name: "/tmp/evil"})
    assert Machine(ENVIRON | {name: "/tmp/evil"}).has("uname", ENVIRON | {name: "/tmp/evil"})  # as before it


def test_what_was_found_before_the_test_may_lie_elsewhere(evil: str) -> None:
    """Some have one of another package's, and their SDKs ask that."""
    environ = ENVIRON | {"PATH": f"{evil}:/usr/bin"}
    assert Machine(environ).has("uname", environ)
    assert os.path.realpath(f"{evil}/uname") != os.path.realpath("/bin/uname")
