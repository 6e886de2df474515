"""The operator's side reaches the agent's published ports, and the agent reaches nothing by it."""

import errno
import os
import socket
from collections.abc import Callable
from typing import Any

import pytest

from launcher.supervise import Boundary
from tests.launcher.rig import WHO, python

pytestmark = pytest.mark.attack

SERVER = """
import socket, sys
family = socket.AF_INET6 if "::" in {address!r} else socket.AF_INET
server = socket.socket(family); server.bind(({address!r}, 8000)); server.listen()
open("ready", "w").close()
one, _ = server.accept()
one.sendall(b"from inside " + one.recv(100))
one.close()
"""


def asking(port: int) -> Callable[[Boundary], None]:
    """Connect once the agent is ready, and put what came of it on standard error."""

    def during(boundary: Boundary) -> None:
        while not os.path.exists(os.path.join(boundary._plan.workdir, "ready")):
            pass
        try:
            with boundary.doorway.connect(port) as sock:
                sock.settimeout(60)
                sock.sendall(b"hello")
                os.write(2, sock.recv(100))
        except OSError as failure:
            os.write(2, errno.errorcode.get(failure.errno or 0, "gone").encode())
        boundary.kill("done")

    return during


def reach(port: int, address: str = "127.0.0.1", **options: Any) -> str:
    """What the operator's side gets from an agent that listens at `address`, port 8000."""
    result = python(SERVER.format(address=address), during=asking(port), published=(8000, 9), **options)
    assert result.error == ""
    return result.err


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0"])
def test_a_published_port_is_reached(who: str, address: str) -> None:
    assert reach(8000, address, who=who) == "from inside hello"


def test_a_port_where_nobody_listens_is_refused() -> None:
    assert reach(9) == "ECONNREFUSED"


def test_a_port_that_the_plan_does_not_publish_is_refused() -> None:
    assert reach(8001) == "EACCES"


def test_the_agent_sees_neither_the_process_nor_a_listener_of_it() -> None:
    program = """
import os
print(sorted(p for p in os.listdir("/proc") if p.isdigit()))
print(sum(len(open(f"/proc/net/{name}").readlines()) - 1 for name in ("tcp", "tcp6", "udp", "udp6")))
print(len([line for line in open("/proc/net/unix") if "/" in line or "@" in line]))
"""
    assert python(program, published=(8000,)).out.splitlines() == ["['1', '2']", "0", "0"]


def test_a_service_of_the_hosts_on_the_published_port_is_not_what_is_reached() -> None:
    with socket.socket() as host:
        host.bind(("127.0.0.1", 0))
        host.listen()
        port = host.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()  # it is there
        program = "open('ready', 'w').close(); import time; time.sleep(60)"
        result = python(program, during=asking(port), published=(port,))
    assert result.err == "ECONNREFUSED"
