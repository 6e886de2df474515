"""Messages are acknowledged one by one, and a refused one is named."""

import os
import struct

import pytest

from launcher import netlink
from tests.launcher.rig import apart


def acknowledgement(number: int, code: int) -> bytes:
    return struct.pack("=IHHII", 36, 2, 0, number, 0) + struct.pack("=i", code) + bytes(16)


def test_acknowledgements_are_counted_off() -> None:
    awaited = {1: "one", 2: "two", 3: "three"}
    netlink._read_acknowledgements(acknowledgement(1, 0) + acknowledgement(3, 0), awaited)
    assert awaited == {2: "two"}


def test_a_refused_message_is_named() -> None:
    with pytest.raises(OSError, match="two") as caught:
        netlink._read_acknowledgements(acknowledgement(2, -17), {2: "two"})
    assert caught.value.errno == 17


@pytest.mark.parametrize("data", [b"", bytes(16), acknowledgement(1, 0)[:18]], ids=["empty", "zero", "cut"])
def test_a_short_answer_does_not_loop(data: bytes) -> None:
    awaited = {9: "nine"}
    try:
        netlink._read_acknowledgements(data, awaited)
    except struct.error:
        assert len(data) == 18
    assert awaited == {9: "nine"}


@pytest.mark.attack
def test_the_kernel_names_what_it_refuses() -> None:
    def work() -> str:
        os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
        try:
            netlink.transact(netlink.NETLINK_ROUTE, [netlink.link_up(1), netlink.link_up(99)])
        except OSError as error:
            return str(error.filename)
        return "accepted"

    assert apart(work) == "bring up interface 99"


def test_only_codecs_of_pyroute2_are_imported() -> None:
    import subprocess
    import sys

    code = (
        "import sys, launcher.netlink\n"
        "looked_for = {'pyroute2', 'pyroute2.ndb.main', 'asyncio', 'multiprocessing'}\n"
        "print(*looked_for & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pyroute2"]
