"""Trap 13: what programs take for granted of the machine itself, and miss in a boundary.

The attack is the day's work: it succeeds if the work fails.
"""

from collections.abc import Callable
from typing import Any, Final

from launcher import etc, mounts, netlink, network
from tests.attacks.containment.programs import inside
from tests.attacks.registry import Outcome, add
from tests.launcher.rig import SYSTEM_PYTHON, without

SERVE: Final = """
import socket
listening = socket.create_server((NAME, 0))
with socket.create_connection((NAME, listening.getsockname()[1]), 5) as sock:
    sock.sendall(b"x")
    if listening.accept()[0].recv(1) != b"x": raise SystemExit(1)
"""
HOSTS: Final = "/etc/hosts"
_generated: Final = etc.generated


def _without_loopback() -> None:
    """Leave the agent's loopback down, as a new network namespace has it."""
    up = netlink.link_up

    def link_up(name: str) -> Any:
        return up(network._LINK if name == network._LOOPBACK else name)

    without(netlink, "link_up", link_up)()


def _without_hosts() -> None:
    """Show the machine's own /etc/hosts as empty: no name of it is known inside."""
    without(mounts, "generated", lambda *about: _generated(*about) | {HOSTS: b""})()


def _fails(program: str) -> str:
    return f"""
import subprocess
done = subprocess.run([{SYSTEM_PYTHON!r}, "-I", "-c", {program!r}], capture_output=True, text=True)
print("SUCCEEDED" if done.returncode else "REFUSED", done.stderr.strip().rpartition("\\n")[2])
"""


LOOPBACK: Final = {
    "127.0.0.1": ("NAME = '127.0.0.1'" + SERVE, _without_loopback),
    "localhost": ("NAME = 'localhost'" + SERVE, _without_hosts),
    "its own name": ("import socket\nNAME = socket.gethostname()" + SERVE, _without_hosts),
}


def _served(name: str, program: str, change: Callable[[], None]) -> None:
    add(
        13,
        f"a server inside is not reached by {name}",
        lambda: inside(_fails(program)),
        lambda: inside(_fails(program), change=change),
    )


for _name, (_program, _change) in LOOPBACK.items():
    _served(_name, _program, _change)

CONFIG: Final = "/etc/ssh/ssh_config"
PART: Final = f"{CONFIG}.d/site.conf"
OF_ROOT: Final = "/etc/ssl/openssl.cnf"
"""A file of the host's that the agent is shown as it lies there: root's, which is nobody inside."""
SETTINGS: Final = """
import subprocess
done = subprocess.run(["ssh", "-G", "somewhere.example"], capture_output=True, text=True)
refused = [line for line in done.stderr.splitlines() if "owner" in line]
print("SUCCEEDED" if refused else "REFUSED" if done.returncode == 0 else "", *refused or [done.stderr])
"""


def _settings(included: str, more: dict[str, bytes]) -> Outcome:
    """Ask ssh for its settings, a part of which lies in another file."""
    return inside(SETTINGS, files={CONFIG: f"Include {included}\n".encode(), **more})


add(
    13,
    "ssh refuses a file of the system's settings for its owner",
    lambda: _settings(PART, {PART: b"Port 77\n"}),
    lambda: _settings(OF_ROOT, {}),
)
