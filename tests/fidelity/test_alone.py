"""The namespace in which replays run: nothing reaches out of it, and what tries is counted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fidelity.controls import DIAL, free_port
from fidelity.shape import ROOT

pytestmark = pytest.mark.attack


def alone(folder: Path, ports: str, *command: str) -> dict:
    report = folder / "report"
    who = (str(os.getuid()), str(os.getgid()))
    argv = [sys.executable, "-m", "fidelity.alone", report, *who, ports, folder, *command]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    return json.loads(report.read_text())


def test_a_program_that_sends_nothing_is_counted_as_that(tmp_path: Path) -> None:
    assert alone(tmp_path, "", "sh", "-c", "exit 7") == {"code": 7, "sent": 0, "dialled": 0}


def test_the_host_has_another_name_there(tmp_path: Path) -> None:
    program = "import os, sys; sys.exit(os.uname().nodename == sys.argv[1])"
    command = (sys.executable, "-c", program, os.uname().nodename)
    assert alone(tmp_path, "", *command)["code"] == 0
    assert subprocess.run(command, check=False).returncode == 1


def test_dials_are_counted_at_a_servers_address_and_toward_one_without_a_way(tmp_path: Path) -> None:
    port = str(free_port())
    both = alone(tmp_path, port, sys.executable, "-c", DIAL, port)
    assert both["dialled"] == 1
    assert both["sent"] > 1
    nowhere = (
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"
    )
    assert alone(tmp_path, "", sys.executable, "-c", nowhere)["sent"] == 1
