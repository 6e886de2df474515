"""`[[allow]]` tables and lists of tools to values, each in itself; `conflicts` looks at them together."""

import re
from typing import Final

from hark.policy import quantities
from hark.policy.hosts import address, host_pattern, port_number
from hark.policy.model import HTTPS_PORT, Body, Rule, Speaks, ToolRule
from hark.policy.paths import wrong_pattern
from hark.policy.patterns import wrong_expression
from hark.policy.reading import Node
from hark.policy.upgrades import no_upgrade

MAX_RULES: Final = 1000
"""`[[allow]]` tables: they are compared with each other, and nobody reviews more."""
_KEYS: Final = (
    "host", "port", "ports", "protocol", "methods", "paths", "hours", "until", "upstream", "body", "tools",
    "may_reexecute", "upgrade",
)  # fmt: skip
_WEB_ONLY: Final = ("methods", "paths", "body", "tools", "upgrade")
_METHOD: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Z]+")


def rules(node: Node) -> tuple[Rule, ...]:
    """Read all `[[allow]]` tables."""
    tables = node.tables()
    if len(tables) > MAX_RULES:
        tables[MAX_RULES].fail(
            f"there are more than {MAX_RULES} [[allow]] tables; plain hosts go to allow_hosts"
        )
    return tuple(_rule(number, table) for number, table in enumerate(tables, 1))


def tool_rules(node: Node) -> tuple[ToolRule, ...]:
    """Read a list of tools, each a name or `{ name = "...", arguments = { path = "/data/.*" } }`."""
    found: list[ToolRule] = []
    for item in node.items():
        rule = _tool(item)
        if any(rule.name == other.name and not (rule.arguments and other.arguments) for other in found):
            item.fail(
                f"{node.name} names {rule.name} twice, and one of the two allows every argument; keep one"
            )
        found.append(rule)
    return tuple(found)


def path_pattern(node: Node) -> str:
    """Read a pattern over the path of a request."""
    text = node.string()
    wrong = wrong_pattern(text)
    if wrong:
        node.fail(f'path pattern "{text}" {wrong}')
    return text


def _rule(number: int, node: Node) -> Rule:
    table = node.table(*_KEYS)
    host = host_pattern(node.required(table, "host", '"api.example.com"'))
    speaks = Speaks(table["protocol"].choice("web", "tcp")) if "protocol" in table else Speaks.WEB
    for key in _WEB_ONLY:
        if speaks is Speaks.TCP and key in table:
            table[key].fail(
                f'{key} has no meaning with protocol = "tcp", whose bytes are recorded and not read'
            )
    tools = tool_rules(table["tools"]) if "tools" in table else None
    if tools is not None and "upgrade" in table:
        table["upgrade"].fail("upgrade has no meaning with tools: of bytes that pass, no call can be judged")
    again, again_tools = (
        _again(table["may_reexecute"], speaks, tools) if "may_reexecute" in table else (False, ())
    )
    return Rule(
        host=host,
        ports=_ports(node, table, speaks),
        name=f"allow {number}: {host}",
        speaks=speaks,
        methods=table["methods"].each(_method, some="it would allow nothing") if "methods" in table else (),
        paths=table["paths"].each(path_pattern, some="it would allow nothing") if "paths" in table else (),
        hours=quantities.hours(table["hours"]) if "hours" in table else None,
        until=quantities.moment(table["until"]) if "until" in table else None,
        upstream=address(table["upstream"]) if "upstream" in table else None,
        body=Body(table["body"].choice("whole", "hash")) if "body" in table else Body.WHOLE,
        tools=tools,
        may_reexecute=again,
        again_tools=again_tools,
        upgrades=table["upgrade"].each(_protocol, some="it would allow nothing")
        if "upgrade" in table
        else (),
    )


def _again(node: Node, speaks: Speaks, tools: tuple[ToolRule, ...] | None) -> tuple[bool, tuple[str, ...]]:
    """Read what a fork may ask again: all or nothing, or calls of some tools."""
    if not isinstance(node.value, list):
        return node.truth(), ()
    if speaks is Speaks.TCP:
        node.fail('a list of tools has no meaning with protocol = "tcp"; write may_reexecute = true')
    return True, reexecutable(node, tools, "tools")


def _ports(node: Node, table: dict[str, Node], speaks: Speaks) -> tuple[int, ...]:
    if "port" in table and "ports" in table:
        table["ports"].fail("allow has both port and ports; keep one")
    if "port" in table:
        return (port_number(table["port"]),)
    if "ports" not in table:
        if speaks is Speaks.TCP:
            node.fail('allow has protocol = "tcp" and no port; add port = 5432 with the port you mean')
        return (HTTPS_PORT,)
    ports: list[int] = []
    for item in table["ports"].items():
        port = port_number(item)
        if port in ports:
            item.fail(f"ports names {port} twice; remove one")
        ports.append(port)
    if not ports:
        table["ports"].fail("ports is empty: it would allow nothing")
    return tuple(ports)


def _method(node: Node) -> str:
    text = node.string()
    if text == "CONNECT":
        node.fail(
            "CONNECT asks a proxy for a tunnel, and there is none to be asked; name what the agent requests"
        )
    if not _METHOD.fullmatch(text):
        node.fail(f'"{text}" is not a method: they are upper-case words; write "{text.upper().strip()}"')
    return text


def _protocol(node: Node) -> str:
    text = node.string()
    why = no_upgrade(text.lower())
    if why:
        node.fail(f'"{text}" {why}; {node.name} has names such as "tcp" or "spdy/3.1"')
    return text.lower()


def reexecutable(node: Node, tools: tuple[ToolRule, ...] | None, key: str) -> tuple[str, ...]:
    """Read the names of tools that a fork may call again; each must be one that `key` lets be called."""

    def allowed(item: Node) -> str:
        name = _tool_name(item)
        if tools is not None and all(rule.name != name for rule in tools):
            item.fail(f"{node.name} names {name}, which {key} does not; add it there, or remove it here")
        return name

    return node.each(allowed, some="it would mark nothing")


def _tool(node: Node) -> ToolRule:
    if isinstance(node.value, str):
        return ToolRule(_tool_name(node))
    if not isinstance(node.value, dict):
        node.fail(
            f'{node.name} has an entry that is no tool; write "name" or {{ name = "name", arguments = {{}} }}'
        )
    table = node.table("name", "arguments")
    name = _tool_name(node.required(table, "name", '"read_file"'))
    if "arguments" not in table:
        return ToolRule(name)
    return ToolRule(name, {key: _expression(value) for key, value in table["arguments"].entries()})


def _tool_name(node: Node) -> str:
    text = node.string()
    if not text or not text.isprintable():
        node.fail("a tool's name is empty or cannot be printed; write it as its server does")
    return text


def _expression(node: Node) -> str:
    text = node.string()
    why = wrong_expression(text)
    if why is not None:
        node.fail(f'"{text}" is not a regular expression that hark can use: {why}')
    return text
