"""`[secrets.NAME]` and `[[token]]`: where a credential comes from, where it may go, where it is minted."""

from collections.abc import Callable, Sequence
from typing import Final

from hark.policy.hosts import host_pattern, host_rule, pattern_covers
from hark.policy.model import (
    DEFAULT_SURFACES,
    WILDCARD,
    HostRule,
    Mount,
    Rule,
    SecretSpec,
    Speaks,
    Surface,
    TokenEndpoint,
)
from hark.policy.reading import Node, path, variable
from hark.policy.rules import path_pattern

_NOT_IN_TCP: Final = (
    "bytes are passed as they are and none can be put in; leave it out, and give the agent a login with few "
    "rights, or let a proxy of yours log in for it"
)
_SOURCES: Final = ("env", "file", "command")
_KEYS: Final = (*_SOURCES, "hosts", "in", "mount", "plain", "sigv4")


def secrets(node: Node, rules: Sequence[Rule]) -> tuple[SecretSpec, ...]:
    """Read all `[secrets.NAME]` tables, and how they stand to each other."""
    specs = {name: _secret(name, table, rules) for name, table in node.entries()}
    tables = dict(node.entries())
    signers: dict[str, str] = {}
    for name, spec in specs.items():
        if spec.sigv4 is not None:
            _check_signer(tables[name].table(*_KEYS)["sigv4"], spec, specs.get(spec.sigv4))
            if spec.sigv4 in signers:
                tables[name].fail(
                    f"secrets.{name} and secrets.{signers[spec.sigv4]} both sign for {spec.sigv4}; keep one"
                )
            signers[spec.sigv4] = name
    return tuple(specs.values())


def tokens(node: Node, rules: Sequence[Rule]) -> tuple[TokenEndpoint, ...]:
    """Read all `[[token]]` tables."""
    return tuple(_token(table, rules) for table in node.tables())


def command(node: Node) -> tuple[str, ...]:
    """Read a program of the operator's side and its arguments."""
    words = tuple(word.string() for word in node.strings())
    if not words or not words[0]:
        node.fail(f'{node.name} is empty; write {node.name} = ["program", "argument"]')
    if "/" in words[0] and not words[0].startswith(("/", "~/")):
        node.fail(f'"{words[0]}" depends on where hark is started; write a name, or a path from / or ~/')
    return words


def _secret(name: str, node: Node, rules: Sequence[Rule]) -> SecretSpec:
    variable(node, name)
    table = node.table(*_KEYS)
    given = [key for key in _SOURCES if key in table]
    if len(given) > 1:
        table[given[1]].fail(f"secrets.{name} has both {' and '.join(given)}; keep one")
    if "sigv4" in table and "in" in table:
        table["in"].fail(f"secrets.{name} signs (sigv4) and is put nowhere, so in has no meaning; remove one")
    return SecretSpec(
        name=name,
        env=variable(table["env"]) if "env" in table else None if given else name,
        file=path(table["file"]) if "file" in table else None,
        hosts=_hosts(name, node, table, rules),
        command=command(table["command"]) if "command" in table else None,
        surfaces=_surfaces(table),
        mount=_mount(table["mount"]) if "mount" in table else None,
        sigv4=variable(table["sigv4"]) if "sigv4" in table else None,
        plain="plain" in table and table["plain"].truth(),
    )


def _hosts(name: str, node: Node, table: dict[str, Node], rules: Sequence[Rule]) -> tuple[HostRule, ...]:
    """Bind a secret to hosts; without `hosts` only where there is a single one that can be meant."""
    if "hosts" in table:
        read = _bound_to(name, rules)
        return table["hosts"].each(read, some="the secret could never be used")
    web = {HostRule(rule.host, port) for rule in rules if rule.speaks is Speaks.WEB for port in rule.ports}
    if rules and not web:
        node.fail(f"secrets.{name} has no host to go to, since all that is allowed speaks tcp: {_NOT_IN_TCP}")
    if len(web) != 1:
        node.fail(
            f"secrets.{name} is bound to no host and the policy allows {len(web)}; "
            f'add hosts = ["..."] to [secrets.{name}]'
        )
    (only,) = web
    if only.host.startswith(WILDCARD):
        node.fail(f'secrets.{name} would be bound to all of {only}; if you mean it, say hosts = ["{only}"]')
    return (only,)


def _bound_to(name: str, rules: Sequence[Rule]) -> "Callable[[Node], HostRule]":
    def read(node: Node) -> HostRule:
        bound = host_rule(node)
        covering = [
            rule for rule in rules if bound.port in rule.ports and pattern_covers(rule.host, bound.host)
        ]
        if not covering:
            node.fail(f"secrets.{name} is bound to {bound}, {_instead(bound, rules)}")
        if all(rule.speaks is Speaks.TCP for rule in covering):
            node.fail(f"secrets.{name} is bound to {bound}, which speaks tcp: {_NOT_IN_TCP}")
        return bound

    return read


def _instead(bound: HostRule, rules: Sequence[Rule]) -> str:
    """Say which port was meant where the host is allowed on others; else what would allow it."""
    others = (
        HostRule(bound.host, port)
        for rule in rules
        if rule.speaks is Speaks.WEB and pattern_covers(rule.host, bound.host)
        for port in rule.ports
    )
    other = next(others, None)
    if other is None:
        return f'which nothing allows; add "{bound}" to allow_hosts'
    return f'and that host is allowed on port {other.port}, not on {bound.port}: write "{other}"'


def _surfaces(table: dict[str, Node]) -> tuple[Surface, ...]:
    if "sigv4" in table:
        return ()
    if "in" not in table:
        return DEFAULT_SURFACES
    known = [surface.value for surface in Surface]
    return table["in"].each(lambda node: Surface(node.choice(*known)), some="the secret could never be used")


def _mount(node: Node) -> Mount:
    if isinstance(node.value, str):
        return Mount(path(node))
    table = node.table("path", "at")
    where = path(node.required(table, "path", '"~/.config/tool.json"'))
    if "at" not in table:
        return Mount(where)
    at = table["at"].string()
    if not all(at.split(".")):
        table["at"].fail(f'"{at}" is not a path to a member of JSON; write at = "tokens.access"')
    return Mount(where, at)


def _check_signer(node: Node, spec: SecretSpec, key_id: SecretSpec | None) -> None:
    if key_id is None or key_id is spec:
        node.fail(
            f"sigv4 names {spec.sigv4}, which is no other secret; add [secrets.{spec.sigv4}] with the key id"
        )
    if key_id.sigv4 is not None:
        node.fail(
            f"sigv4 names {spec.sigv4}, which signs itself; name the secret that holds the access key id"
        )
    apart = [rule for rule in spec.hosts if rule not in key_id.hosts]
    if apart:
        node.fail(
            f'secrets.{spec.sigv4} is not bound to {apart[0]} as this one is; add "{apart[0]}" to its hosts'
        )


def _token(node: Node, rules: Sequence[Rule]) -> TokenEndpoint:
    table = node.table("host", "path", "fields")
    host = host_pattern(node.required(table, "host", '"login.example.com"'))
    web = [rule for rule in rules if rule.speaks is Speaks.WEB]
    if not any(pattern_covers(rule.host, host) for rule in web):
        table["host"].fail(f'token names {host}, which nothing allows; add "{host}" to allow_hosts')
    fields = node.required(table, "fields", '["access_token"]')
    return TokenEndpoint(
        host=host,
        path=path_pattern(node.required(table, "path", '"/oauth/token"')),
        fields=fields.each(Node.string, some="it would name no credential"),
    )
