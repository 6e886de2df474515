"""What a policy means, in words: one line for each fact, with the line of the file that says it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from hark.policy.host import format_authority
from hark.policy.lines import Lines
from hark.policy.model import (
    MAX_SNAPSHOT,
    Body,
    Clock,
    McpServer,
    Policy,
    Randomness,
    Rule,
    SecretSpec,
    Speaks,
    Surface,
    ToolRule,
    Typed,
)
from hark.policy.quantities import shown_duration, shown_size

IN_WORDS: Final[Mapping[Surface, str]] = {
    Surface.HEADER: "headers",
    Surface.BASIC: "Basic authorisation",
    Surface.QUERY: "the query",
    Surface.PATH: "the path",
    Surface.BODY: "the body",
    Surface.WS: "WebSocket messages",
}


class Fact(NamedTuple):
    """One sentence, without its full stop, and where the file says it."""

    line: int | None
    words: str


def facts(policy: Policy) -> Iterator[Fact]:
    """Yield what a policy means, in the order in which people ask: where to, with what, to what files."""
    lines = Lines(policy)
    for rule in policy.rules:
        yield Fact(lines.of_rule(rule), _rule(rule))
    yield Fact(None, "nothing else may be reached" if policy.rules else "nothing may be reached")
    for spec in policy.secrets:
        yield Fact(lines.of("secrets", spec.name), _secret(spec))
    for number, endpoint in enumerate(policy.tokens):
        where = f"answers of {endpoint.host} at {endpoint.path}"
        yield Fact(lines.of("token", number), f"{_listed(endpoint.fields)} in {where} are credentials")
    for key, verb, paths in (
        ("read_paths", "see", policy.read_paths),
        ("write_paths", "write", policy.write_paths),
    ):
        for number, path in enumerate(paths):
            yield Fact(lines.of(key, number), f"the agent may {verb} {path}")
    if policy.executables is not None:
        yield Fact(lines.of("exec"), f"only these may be executed: {_listed(policy.executables)}")
    yield from _environment(policy, lines)
    yield from _beside(policy, lines)


def _rule(rule: Rule) -> str:
    places = _listed(format_authority(rule.host, port) for port in rule.ports)
    what = "raw TCP" if rule.speaks is Speaks.TCP else f"{_listed(rule.methods) or 'all'} requests"
    said = [f"{what} to {places}"]
    if rule.paths:
        said.append(f"on the paths {_listed(rule.paths)}")
    if rule.tools is not None:
        said.append(f"of MCP's tools {tools_in_words(rule.tools)}")
    if rule.upgrades:
        said.append(f"which may become streams of {_listed(rule.upgrades)} that no rule judges any more")
    if rule.hours is not None:
        said.append(f"from {rule.hours.start:%H:%M} to {rule.hours.end:%H:%M} each day")
    if rule.until is not None:
        said.append(f"until {rule.until.isoformat()}")
    if rule.upstream is not None:
        said.append(f"dialled at {rule.upstream}")
    if rule.body is Body.HASH:
        said.append("with bodies recorded as length and hash alone")
    if rule.again_tools:
        said.append(f"and a fork may call {_listed(rule.again_tools)} of MCP's tools again")
    elif rule.may_reexecute:
        said.append(f"and a fork may {'connect' if rule.speaks is Speaks.TCP else 'make them'} again")
    return f"allowed: {', '.join(said)}"


def _secret(spec: SecretSpec) -> str:
    hosts = _listed(map(str, spec.hosts))
    if spec.sigv4 is not None:
        use = f"signs AWS requests of the key id {spec.sigv4} to {hosts}, and is put nowhere"
    else:
        use = f"goes into {surfaces(spec.surfaces)} of requests to {hosts}"
    seen = "" if spec.mount is None else f"; {spec.mount.path} is shown with the placeholder in its place"
    plain = ", without TLS too" if spec.plain else ""
    return f"secret {spec.name}, from {source(spec)}, {use}{plain}{seen}"


def source(spec: SecretSpec) -> str:
    """Say where a secret's value comes from."""
    if spec.command is not None:
        return f"what {spec.command[0]} prints"
    return f"the file {spec.file}" if spec.file is not None else f"the variable {spec.env}"


def surfaces(places: Sequence[Surface]) -> str:
    """Say where a placeholder is replaced."""
    *others, last = [IN_WORDS[place] for place in places]
    return f"{_listed(others)} and {last}" if others else last


def _environment(policy: Policy, lines: Lines) -> Iterator[Fact]:
    for number, name in enumerate(policy.env_pass):
        yield Fact(
            lines.of("env", "pass", number),
            f"the agent gets your variable {name} as it is, and it is recorded",
        )
    for name, value in policy.env_set.items():
        yield Fact(lines.of("env", "set", name), f"the agent gets {name}={value}")
    for number, name in enumerate(policy.mask):
        yield Fact(lines.of("project", "mask", number), f"{name} in the project is not shown")
    for number, name in enumerate(policy.unmask):
        yield Fact(lines.of("project", "unmask", number), f"{name} in the project is shown, and not masked")
    for number, name in enumerate(policy.unprotect):
        yield Fact(lines.of("project", "unprotect", number), f"{name} in the project may be written")


def _beside(policy: Policy, lines: Lines) -> Iterator[Fact]:
    for server in policy.mcp:
        yield Fact(lines.of("mcp", server.name), _server(server))
    for number, port in enumerate(policy.publish):
        yield Fact(lines.of("publish", number), f"the agent's port {port.port} can be reached at {port.at}")
    if policy.git_https:
        yield Fact(
            lines.of("git", "https"), f"git asks {_listed(policy.git_https)} over https in place of ssh"
        )
    if policy.nested_sandboxes:
        yield Fact(lines.of("sandbox", "nested"), "the agent may make namespaces of its own")
    yield from _replay(policy, lines)
    yield from _snapshot(policy, lines)
    limits = policy.limits
    for key, value, shown, what in (
        ("time", limits.time_s, shown_duration, ""),
        ("processes", limits.processes, str, " processes"),
        ("memory", limits.memory, shown_size, " of memory"),
        ("disk", limits.disk, shown_size, " in its private files"),
        ("events_per_second", limits.events_per_s, str, " events a second"),
    ):
        if value is not None:
            yield Fact(lines.of("limits", key), f"the run ends at {shown(int(value))}{what}")
    if policy.max_bytes is not None:
        most = shown_size(policy.max_bytes)
        yield Fact(lines.of("record", "max_bytes"), f"the run ends before its bundle has {most}")


def _snapshot(policy: Policy, lines: Lines) -> Iterator[Fact]:
    if policy.snapshot.max_bytes != MAX_SNAPSHOT:
        words = (
            f"a project of up to {shown_size(policy.snapshot.max_bytes)} is copied into the bundle "
            "as the run begins, and none of a larger one"
        )
        yield Fact(lines.of("snapshot", "max"), words)
    for number, pattern in enumerate(policy.snapshot.exclude):
        words = f"what matches {pattern} in the project is left out of that copy, and not compared at the end"
        yield Fact(lines.of("snapshot", "exclude", number), words)


def _replay(policy: Policy, lines: Lines) -> Iterator[Fact]:
    rules = policy.replay
    for key, what, where, ignored in (
        ("ignore_headers", "header", "requests", rules.ignore_headers),
        ("ignore_json", "JSON value", "requests", rules.ignore_json),
        ("ignore_query", "query parameter", "requests", rules.ignore_query),
        ("ignore_form", "form field", "requests", rules.ignore_form),
        ("ignore_messages", "JSON value", "WebSockets' and tool servers' messages", rules.ignore_messages),
    ):
        for number, name in enumerate(ignored):
            words = f"a replay does not compare the {what} {name} of {where}"
            yield Fact(lines.of("replay", key, number), words)
    if rules.clock is Clock.REAL:
        yield Fact(lines.of("replay", "clock"), "the agent reads the real clock, also in a replay")
    if rules.randomness is Randomness.REAL:
        words = "the agent's random bytes are real ones, and a replay's are others"
        yield Fact(lines.of("replay", "randomness"), words)
    if rules.typed is Typed.UNRECORDED:
        words = "standard input and what is typed are in no record, and the agent of a replay has no input"
        yield Fact(lines.of("replay", "input"), words)


def _server(server: McpServer) -> str:
    tools = "any tool" if server.tools is None else f"the tools {tools_in_words(server.tools)}"
    again = f", and a fork may call {_listed(server.may_reexecute)} again" if server.may_reexecute else ""
    return (
        f"tool server {server.name} runs {server.command[0]} outside the boundary; "
        f"the agent may call {tools}{again}"
    )


def tools_in_words(rules: Sequence[ToolRule]) -> str:
    """Name the tools that may be called."""
    return (
        _listed(f"{rule.name} (by its arguments)" if rule.arguments else rule.name for rule in rules)
        or "none"
    )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
