"""Trap 55: make a tool server a way out of the boundary, or a load on the host."""

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

from hark.errors import PolicyError
from hark.plan.toolservers import Caller, make_ready
from hark.policy.model import McpServer, Policy
from mediator.credentials import Broker
from mediator.mcp import connection, doors
from tests.attacks.registry import Outcome, add, run_without
from tests.mediator.mcp.rig import Client, call, door, program
from tests.mediator.rig import secret

VALUE: Final = "sk-real-5e884898da28047151d0"
MANY: Final = doors.MAX_OPEN + 8
LONG: Final = 64 << 20


def _give_away() -> Outcome:
    held = (secret(VALUE, name="TOKEN of mcp.fake"),)
    with door(program(env={"TOKEN": VALUE}), held) as (_, client):
        got = json.dumps(client.call("leak", name="TOKEN"))
    return Outcome.seen("the agent read the answer", succeeded=VALUE in got)


def _rewritten() -> Outcome:
    """The agent writes the program that a later connection starts."""
    with tempfile.TemporaryDirectory() as home:
        server = Path(home) / "project" / "server"
        server.parent.mkdir()
        server.write_text("#!/bin/sh\n")
        server.chmod(0o755)
        caller = Caller({"PATH": os.defpath}, home, (str(server.parent),))
        try:
            make_ready(Policy(mcp=(McpServer("notes", (str(server),)),)), caller, ())
        except PolicyError as error:
            return Outcome.seen(str(error), succeeded=False)
    return Outcome.seen("the server would be started", succeeded=True)


def _many() -> Outcome:
    with door() as (rig, first):
        clients = [first, *(Client(rig) for _ in range(MANY - 1))]
        served = 0
        for client in clients:
            with contextlib.suppress(OSError):
                served += client.call("echo") is not None
        for client in clients[1:]:
            client.close()
    return Outcome.seen(f"{served} servers at once", succeeded=served > doors_of_a_client())


def doors_of_a_client() -> int:
    """Return what hark allows, whatever a test has put in its place."""
    return MANY - 8


def _without_an_end() -> Outcome:
    sent = 0
    with door() as (_, client), contextlib.suppress(OSError):
        client.sock.settimeout(60)
        while sent < LONG:
            client.sock.sendall(b"x" * (1 << 20))
            sent += 1 << 20
    return Outcome.seen(f"{sent >> 20} MiB of one message were taken", succeeded=sent >= LONG)


def _left_behind() -> Outcome:
    """Half-close, go away, and leave a server that does not mind the end of its input."""
    with tempfile.TemporaryDirectory() as folder:
        pid = Path(folder) / "pid"
        script = f"echo $$ > {pid}; while :; do sleep 1000; done"
        with door(program(argv=("/bin/sh", "-c", script))) as (_, client):
            client.send(call("echo"))
            while not (pid.exists() and pid.read_text().strip()):
                time.sleep(0.01)
            client.done()
            deadline = time.monotonic() + (60 if connection.GRACE_S < 60 else 3)
            while (there := _runs(pid)) and time.monotonic() < deadline:
                time.sleep(0.05)
    return Outcome.seen("the server was looked for", succeeded=there)


def _runs(pid: Path) -> bool:
    return Path(f"/proc/{pid.read_text().strip()}").exists()


def _soon() -> AbstractContextManager[object]:
    """The ceiling that hark has, in a time that a test can wait for."""
    return patch.object(connection, "GRACE_S", 0.5)


def without(where: object, name: str, value: object) -> Callable[[], AbstractContextManager[object]]:
    """Put something else in the place of a defence."""
    return partial(patch.object, where, name, value)


for name, defence, run in (
    (
        "have the server give its credential away",
        without(Broker, "real_value_in", lambda *_: None),
        _give_away,
    ),
    ("rewrite the program of the server", without(Caller, "writes", lambda *_: False), _rewritten),
    ("start servers without end", without(doors, "MAX_OPEN", 10 * MANY), _many),
    ("send a message without an end", without(connection, "MAX_FROM_AGENT", 1 << 40), _without_an_end),
):
    add(55, name, run, run_without(defence, run))
add(
    55,
    "leave a server behind",
    run_without(_soon, _left_behind),
    run_without(without(connection, "GRACE_S", 3600.0), _left_behind),
)
