"""Offline means: loopback answers, and no other address has a route."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OFFLINE = Path(__file__).resolve().parents[2] / ".ci" / "offline.py"
PROBE = """
import os, socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close()
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
    print("a route", os.getuid())
except OSError:
    print("no route", os.getuid())
"""


@pytest.mark.attack
def test_a_command_run_offline_has_loopback_no_route_and_its_own_uid() -> None:
    command = [sys.executable, str(OFFLINE), sys.executable, "-c", PROBE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["no", "route", str(os.getuid())]
    assert done.stderr == ""


def test_the_exit_status_is_the_commands_own() -> None:
    command = [sys.executable, str(OFFLINE), sys.executable, "-c", "raise SystemExit(7)"]
    assert subprocess.run(command, check=False).returncode == 7
