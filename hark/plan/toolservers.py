"""`[mcp.NAME]` made ready: the programs that run outside the boundary, and the stubs that the agent starts.

Always: nothing that decides what such a program does lies where the agent can write (`hark.plan.caller`).
Starts nothing and writes nothing.
"""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hark.errors import PolicyError
from hark.plan.caller import Caller
from hark.plan.command import find_command
from hark.plan.environment import DEFAULT_PATH
from hark.policy.model import McpServer, Policy, Secret
from launcher.plan import GATEWAY_V4

if TYPE_CHECKING:
    from mediator.mcp.program import Program

STUBS: Final = "/run/hark/mcp/bin"
"""Last on the agent's PATH: a command for each server."""
STUB: Final = "/run/hark/mcp/stub.py"


@dataclass(frozen=True, slots=True)
class ToolServers:
    """What the run needs for its tool servers. Holds real secrets: never logged or recorded."""

    programs: "tuple[Program, ...]" = ()
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """The servers' own, for the broker to look for; the agent gets no placeholder of them."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What the agent is shown: the stubs."""
    needs: tuple[str, ...] = ()
    """What the agent must see to run them: this interpreter."""
    notes: tuple[str, ...] = ()
    """For the record: what runs outside the boundary."""


def make_ready(policy: Policy, caller: Caller, held: Iterable[Secret]) -> ToolServers:
    """Resolve every server. Raises PolicyError, without any value."""
    if not policy.mcp:
        return ToolServers()
    from mediator.mcp.program import FIRST_PORT

    values = {secret.value for secret in held}
    programs, secrets, notes = [], [], []
    for number, server in enumerate(policy.mcp):
        own = own_secrets(server, caller.environ)
        secrets += [_secret(server, name, value) for name, value in own.items() if value not in values]
        values |= set(own.values())
        program = _program(server, caller, own, FIRST_PORT + number)
        programs.append(program)
        notes.append(f"mcp.{server.name} runs {os.path.realpath(program.argv[0])} outside the boundary")
    interpreter = os.path.realpath(sys.executable)
    needs = find_command(interpreter, "/", DEFAULT_PATH, caller.home, caller.environ).needs
    return ToolServers(tuple(programs), tuple(secrets), _files(programs, interpreter), needs, tuple(notes))


def played(policy: Policy, home: str, environ: Mapping[str, str]) -> ToolServers:
    """Return the doors and stubs of a replay: recorded messages answer there, so nothing is resolved."""
    if not policy.mcp:
        return ToolServers()
    from mediator.mcp.program import FIRST_PORT, Program

    programs = [
        Program(server.name, (), {}, "/", server.tools, FIRST_PORT + number)
        for number, server in enumerate(policy.mcp)
    ]
    interpreter = os.path.realpath(sys.executable)
    needs = find_command(interpreter, "/", DEFAULT_PATH, home, environ).needs
    return ToolServers(tuple(programs), files=_files(programs, interpreter), needs=needs)


def refuse_taken(servers: Iterable[McpServer], path: str) -> None:
    """Refuse a name that a program on the agent's PATH has: the agent would get that. Raises PolicyError."""
    for server in servers:
        for directory in path.split(":"):
            if os.access(f"{directory}/{server.name}", os.X_OK):
                raise PolicyError(
                    f"mcp.{server.name} has the name of a program, {directory}/{server.name}, which the "
                    "agent would start in its place; give the server another name"
                )


def own_secrets(server: McpServer, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values that a server gets in variables. Raises PolicyError where the caller has one not."""
    found = {}
    for name, variable in server.secrets.items():
        value = environ.get(variable, "").strip()
        if not value:
            state = "empty" if variable in environ else "not set"
            raise PolicyError(
                f"mcp.{server.name}.secrets: the environment variable {variable} is {state}; "
                f"set it or remove {name}"
            )
        found[name] = value
    return found


def _secret(server: McpServer, name: str, value: str) -> Secret:
    from mediator.credentials import check_value, placeholder_for
    from mediator.placeholders import check_guess

    called = f"{name} of mcp.{server.name}"
    check_value(called, value)
    check_guess(called, value)
    return Secret(called, value, placeholder_for(value), ())


def trusted(server: McpServer, caller: Caller) -> tuple[str, tuple[str, ...]]:
    """Return where a server starts and what is run there. Raises PolicyError."""
    workdir = caller.expanded(server.workdir) if server.workdir else caller.home
    if not os.path.isdir(workdir):
        raise PolicyError(f"mcp.{server.name}: its workdir {workdir} is no directory; create it")
    return workdir, caller.trusted(server.command, workdir, f"mcp.{server.name}", server.env)


def _program(server: McpServer, caller: Caller, own: Mapping[str, str], port: int) -> "Program":
    from mediator.mcp.program import Program

    workdir, command = trusted(server, caller)
    env = caller.variables | dict(server.env) | dict(own)
    return Program(server.name, command, env, workdir, server.tools, port)


def _files(programs: Iterable["Program"], interpreter: str) -> dict[str, bytes]:
    """Return the stubs: a line of shell each, so that any path of an interpreter will do."""
    from mediator.mcp import stub

    with open(stub.__file__, "rb") as file:
        files = {STUB: file.read()}
    for program in programs:
        words = shlex.join([interpreter, "-I", "-S", STUB, GATEWAY_V4, str(program.port)])
        files[f"{STUBS}/{program.name}"] = f"#!/bin/sh\nexec {words}\n".encode(errors="surrogateescape")
    return files
