"""`[mcp.NAME]`, `[[publish]]`, `[limits]`, `exec`, `[git]`, `[snapshot]`: what is beside the agent."""

import ipaddress
import re
from collections.abc import Sequence
from typing import Final

from hark.policy import quantities
from hark.policy.bindings import command
from hark.policy.hosts import address, exact_host, pattern_covers, port_number
from hark.policy.model import (
    HTTPS_PORT,
    MAX_SNAPSHOT,
    Address,
    Limits,
    McpServer,
    Published,
    Rule,
    SnapshotRules,
    Speaks,
)
from hark.policy.reading import Node, assignments, path, variable
from hark.policy.rules import reexecutable, tool_rules

LEAST_MEMORY: Final = 16 << 20  # less starts no interpreter: a slip in the unit
LEAST_DISK: Final = 1 << 20
LEAST_RECORD: Final = 1 << 20  # room for what opens and seals a bundle
MOST_PROCESSES: Final = 4_194_304  # PID_MAX_LIMIT of a 64-bit kernel
MOST_EVENTS: Final = 1_000_000  # a second; beyond what one machine writes
_COMMAND_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)


def limits(node: Node) -> Limits:
    """Read `[limits]`."""
    table = node.table("time", "processes", "memory", "disk", "events_per_second")
    events = table.get("events_per_second")
    return Limits(
        time_s=quantities.duration(table["time"]) if "time" in table else None,
        processes=quantities.count(table["processes"], MOST_PROCESSES) if "processes" in table else None,
        memory=quantities.size(table["memory"], LEAST_MEMORY) if "memory" in table else None,
        disk=quantities.size(table["disk"], LEAST_DISK) if "disk" in table else None,
        events_per_s=quantities.count(events, MOST_EVENTS) if events else None,
    )


def snapshot(node: Node) -> SnapshotRules:
    """Read `[snapshot]`."""
    table = node.table("max", "exclude")
    return SnapshotRules(
        max_bytes=quantities.size(table["max"], 1) if "max" in table else MAX_SNAPSHOT,
        exclude=table["exclude"].each(_pattern) if "exclude" in table else (),
    )


def _pattern(node: Node) -> str:
    """Read a pattern of .gitignore's that leaves something out."""
    text = node.string()
    if not text.strip(" /*") or text.startswith(("#", "!")) or "\n" in text or "\0" in text:
        node.fail(f'"{text}" leaves nothing out by a name; write one as in .gitignore, such as "build/"')
    return text


def executables(node: Node) -> tuple[str, ...]:
    """Read `exec`: names, or paths from / or ~/."""
    return node.each(_executable, some="not even the command could start")


def servers(node: Node) -> tuple[McpServer, ...]:
    """Read all `[mcp.NAME]` tables."""
    return tuple(_server(name, table) for name, table in node.entries())


def published(node: Node) -> tuple[Published, ...]:
    """Read all `[[publish]]` tables."""
    found: list[Published] = []
    for table in node.tables():
        one = _published(table)
        for other in found:
            if other.port == one.port or other.at == one.at:
                table.fail(
                    f"port {one.port} at {one.at} is published twice, or two at one address; remove one"
                )
        found.append(one)
    return tuple(found)


def git_hosts(node: Node, rules: Sequence[Rule]) -> tuple[str, ...]:
    """Read `[git] https`."""
    table = node.table("https")
    if "https" not in table:
        return ()

    def allowed(item: Node) -> str:
        host = exact_host(item)
        web = [rule for rule in rules if rule.speaks is Speaks.WEB and HTTPS_PORT in rule.ports]
        if not any(pattern_covers(rule.host, host) for rule in web):
            item.fail(
                f'git.https names {host}, which nothing allows on port 443; add "{host}" to allow_hosts'
            )
        return host

    return table["https"].each(allowed)


def _executable(node: Node) -> str:
    text = node.string()
    return path(node) if "/" in text or not text or text == "~" else text


def _server(name: str, node: Node) -> McpServer:
    if not _COMMAND_NAME.fullmatch(name):
        node.fail(
            f'"{name}" is no name for a command, by which the agent starts it; use letters, digits, - and _'
        )
    table = node.table("command", "env", "secrets", "allow_tools", "workdir", "may_reexecute")
    env = assignments(table["env"]) if "env" in table else {}
    secrets = table["secrets"].entries() if "secrets" in table else ()
    held = {variable(value, key): variable(value) for key, value in secrets}
    twice = sorted(set(env) & set(held))
    if twice:
        table["env"].fail(f"mcp.{name} sets {twice[0]} in both env and secrets; keep one")
    tools = tool_rules(table["allow_tools"]) if "allow_tools" in table else None
    return McpServer(
        name=name,
        command=command(node.required(table, "command", '["program", "argument"]')),
        env=env,
        secrets=held,
        tools=tools,
        workdir=path(table["workdir"]) if "workdir" in table else None,
        may_reexecute=reexecutable(table["may_reexecute"], tools, "allow_tools")
        if "may_reexecute" in table
        else (),
    )


def _published(node: Node) -> Published:
    table = node.table("port", "at")
    port = port_number(node.required(table, "port", "8080"))
    at = address(table["at"]) if "at" in table else Address("127.0.0.1", port)
    if ipaddress.ip_address(at.host).is_reserved:
        table["at"].fail(f"{at.host} is no address of this machine; write one that it has, such as 127.0.0.1")
    return Published(port, at)
