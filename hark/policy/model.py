"""The policy as values: what may be reached, seen, written, and which credentials go where.

A `Policy` is what the operator wrote and nothing more; a `Secret` has its real value in it and is never
logged, pickled or recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import Enum
from typing import Final, Self

from hark.policy.host import canonical_host, format_authority, split_authority

HTTPS_PORT: Final = 443
"""The port that a rule without one means."""
SERVER_FIRST_PORTS: Final = frozenset(
    (21, 22, 23, 25, 110, 143, 220, 587, 2222, 2525, 3306, 3307, 5900, 5901, 6667)
)
"""Where the client waits for a greeting that would never come, if the web alone is allowed."""
WILDCARD: Final = "*."
"""Before a name it stands for exactly one label, as in a certificate (RFC 9525 6.3): never for the name
itself, never for two labels."""


def covers(pattern: str, host: str) -> bool:
    """Tell whether a canonical host, or one with `*.` in front, is or covers this canonical host."""
    if not pattern.startswith(WILDCARD):
        return pattern == host
    label, dot, rest = host.partition(".")
    return bool(label and dot) and rest == pattern.removeprefix(WILDCARD)


@dataclass(frozen=True, slots=True, order=True)
class HostRule:
    """One entry of `allow_hosts`: this host, or `*.` and a name, on exactly this port."""

    host: str
    port: int = HTTPS_PORT

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `host`, `host:port` or a bare IPv6 address. Raises HostError."""
        if text.count(":") > 1 and not text.startswith("["):
            return cls(canonical_host(text))
        return cls(*split_authority(text, HTTPS_PORT))

    def matches(self, host: str, port: int) -> bool:
        """Tell whether the rule covers this canonical host on this port."""
        return covers(self.host, host) and self.port == port

    def __str__(self) -> str:
        if self.port == HTTPS_PORT:
            return self.host
        return format_authority(self.host, self.port)


class Speaks(Enum):
    """What may be spoken to a host: requests that are judged one by one, or bytes that are only recorded."""

    WEB = "web"
    TCP = "tcp"


class Body(Enum):
    """How bodies of a host's exchanges are recorded: every byte, or length and BLAKE3 alone."""

    WHOLE = "whole"
    HASH = "hash"


@dataclass(frozen=True, slots=True)
class Address:
    """A place on the operator's side: an IP address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return format_authority(self.host, self.port)


@dataclass(frozen=True, slots=True)
class Hours:
    """A daily window in the machine's local time; `end` is not in it. `end` before `start` spans midnight."""

    start: time
    end: time


@dataclass(frozen=True, slots=True)
class ToolRule:
    """One entry of `allow_tools`: a tool's name and, for named arguments, patterns that must match whole."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Argument name to regular expression (re.fullmatch) over a string, or over the JSON of anything else."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is allowed: an `[[allow]]` table, or an entry of `allow_hosts` in the same shape."""

    host: str
    """Canonical, perhaps with `*.` in front."""
    ports: tuple[int, ...] = (HTTPS_PORT,)
    name: str = ""
    """What a verdict calls it: `allow_hosts: api.example.com`, `allow 2: *.example.org`."""
    speaks: Speaks = Speaks.WEB
    methods: tuple[str, ...] = ()
    """Upper-case. None: any."""
    paths: tuple[str, ...] = ()
    """Patterns over the path without its query: `*` is any run without a slash, `**` any run. None: any."""
    hours: Hours | None = None
    until: datetime | None = None
    """With a zone. From then on the rule allows nothing."""
    upstream: Address | None = None
    """Where the host is dialled instead: a service of this machine or its network under a name of its own."""
    body: Body = Body.WHOLE
    tools: tuple[ToolRule, ...] | None = None
    """For MCP over HTTP: the tools that may be called. None: any."""
    may_reexecute: bool = False
    """Whether a fork may ask it again, although it may change the world (`hark.patch.world`)."""
    again_tools: tuple[str, ...] = ()
    """For MCP over HTTP: the only tools that the mark is for. None: it is for all that the rule covers."""
    upgrades: tuple[str, ...] = ()
    """Lower-case names of protocols to which a request may switch its connection (`upgrade`): from there on
    bytes pass that are recorded and not judged."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`[limits]`: where one is reached the run ends with a sentence that names it. None: no limit."""

    time_s: float | None = None
    processes: int | None = None
    memory: int | None = None
    """Bytes, of all the agent's processes together where the host lets us, else of each."""
    disk: int | None = None
    """Bytes in the agent's private /tmp and home."""
    events_per_s: int | None = None
    """Sustained over ten seconds."""


class Clock(Enum):
    """Which wall clock the agent reads: one that a replay shows again, or the machine's own."""

    RECORDED = "recorded"
    REAL = "real"


class Typed(Enum):
    """Whether standard input and what is typed stand in the record."""

    RECORDED = "recorded"
    UNRECORDED = "unrecorded"


class Randomness(Enum):
    """Where the agent's random bytes come from: a recorded seed, or the machine's own generator."""

    SEEDED = "seeded"
    REAL = "real"


@dataclass(frozen=True, slots=True)
class ReplayRules:
    """`[replay]`: what a replay of this run does not compare, and what it may not have under control."""

    ignore_headers: tuple[str, ...] = ()
    """Lower-case names of request headers that never count, beside those of the canonical form."""
    ignore_json: tuple[str, ...] = ()
    """Paths in JSON bodies of requests (`hark.policy.jsonpath`) whose values never count."""
    clock: Clock = Clock.RECORDED
    randomness: Randomness = Randomness.SEEDED
    typed: Typed = Typed.RECORDED
    """`input`: where it is not recorded, a replay's agent has none."""
    ignore_query: tuple[str, ...] = ()
    """Names of query parameters that never count, without percent-encoding."""
    ignore_form: tuple[str, ...] = ()
    """Names of fields that never count: of forms, and of parts of multipart bodies."""
    ignore_messages: tuple[str, ...] = ()
    """As `ignore_json`, in the messages of WebSockets and of tool servers."""


MAX_SNAPSHOT: Final = 64_000_000
"""What `[snapshot] max` is where a policy says nothing."""


@dataclass(frozen=True, slots=True)
class SnapshotRules:
    """`[snapshot]`: how much of the project, as it was before the agent, is kept for a replay."""

    max_bytes: int = MAX_SNAPSHOT
    """Of the files, as they are on the disk; of a project with more none is kept."""
    exclude: tuple[str, ...] = ()
    """Patterns as in .gitignore, after those that the project has itself."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """`[mcp.NAME]`: a tool server over stdio, run outside the agent's boundary behind a stub command NAME."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Variable of the server's environment to the caller's variable that holds the value."""
    tools: tuple[ToolRule, ...] | None = None
    workdir: str | None = None
    may_reexecute: tuple[str, ...] = ()
    """The tools that a fork may call again."""


@dataclass(frozen=True, slots=True)
class Published:
    """One entry of `[[publish]]`: a port on the agent's loopback, reachable at an address of the host's."""

    port: int
    at: Address


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Where tokens are minted: in answers of this host and path, these fields are credentials."""

    host: str
    path: str
    """A pattern, as of `Rule.paths`."""
    fields: tuple[str, ...]
    """Names of JSON members, form fields or XML elements at any depth."""


class Surface(Enum):
    """Where in a request a placeholder is replaced."""

    HEADER = "header"
    BASIC = "basic"
    QUERY = "query"
    PATH = "path"
    BODY = "body"
    WS = "ws"


DEFAULT_SURFACES: Final = (Surface.HEADER, Surface.BASIC)


@dataclass(frozen=True, slots=True)
class Mount:
    """A file of the caller's that the agent sees with the secret's placeholder in the value's place."""

    path: str
    """As written: `~/.netrc`."""
    at: str | None = None
    """A dotted JSON path to the value (`tokens.access`); None: wherever the value stands in the file."""


@dataclass(frozen=True, slots=True)
class SecretSpec:
    """One `[secrets.NAME]` table: where the value is found on the host, and which hosts may be sent it."""

    name: str
    """The environment variable in which the agent finds the placeholder."""
    env: str | None
    file: str | None
    hosts: tuple[HostRule, ...]
    command: tuple[str, ...] | None = None
    """A program of the caller's whose standard output is the value (a password manager)."""
    surfaces: tuple[Surface, ...] = DEFAULT_SURFACES
    mount: Mount | None = None
    sigv4: str | None = None
    """The name of the secret with the access key id: this one is the AWS secret key that signs again."""
    plain: bool = False
    """Whether the value may go to its hosts without TLS, where who is on the way can read it."""

    def __str__(self) -> str:
        return f"secrets.{self.name}"


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential with its real value, for the broker alone."""

    name: str
    value: str = field(repr=False)
    placeholder: str
    hosts: tuple[HostRule, ...]
    surfaces: tuple[Surface, ...] = DEFAULT_SURFACES
    sigv4: str | None = None
    plain: bool = False
    """Whether it goes to its hosts without TLS too, where those are beyond this machine."""
    missing: bool = False
    """Whether there is no value: the agent of a fork holds the placeholder, and the forker named none."""

    def bound_to(self, host: str, port: int) -> bool:
        """Tell whether this canonical host may be sent the value on this port."""
        return any(rule.matches(host, port) for rule in self.hosts)


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything one policy file says. The default is to deny."""

    source: str = "none"
    """The file it was read from, as the operator named it; `none` where there was no policy."""
    raw: bytes = b""
    allow_hosts: tuple[HostRule, ...] = ()
    read_paths: tuple[str, ...] = ()
    write_paths: tuple[str, ...] = ()
    secrets: tuple[SecretSpec, ...] = ()
    env_pass: tuple[str, ...] = ()
    env_set: Mapping[str, str] = field(default_factory=dict)
    mask: tuple[str, ...] = ()
    """Names in the project that the agent may not see, whatever else is said of them."""
    unmask: tuple[str, ...] = ()
    """Names in the project (`.env`) that the agent may read although they are masked by default."""
    unprotect: tuple[str, ...] = ()
    """Names in the project (`.git/hooks`) that the agent may write although they are read-only by default."""
    allow: tuple[Rule, ...] = ()
    """The `[[allow]]` tables, in order."""
    limits: Limits = Limits()
    max_bytes: int | None = None
    """`[record] max_bytes`: the run ends before its bundle grows beyond this."""
    executables: tuple[str, ...] | None = None
    """`exec`: what may be executed, as paths or names; None: whatever the agent can see."""
    mcp: tuple[McpServer, ...] = ()
    publish: tuple[Published, ...] = ()
    tokens: tuple[TokenEndpoint, ...] = ()
    """`[[token]]` tables, beside those that ship."""
    git_https: tuple[str, ...] = ()
    """`[git] https`: hosts whose ssh and git@ addresses git rewrites to https, where hark brokers."""
    nested_sandboxes: bool = False
    """`[sandbox] nested`: the agent may make user namespaces of its own (bubblewrap, Chromium)."""
    replay: ReplayRules = ReplayRules()
    snapshot: SnapshotRules = SnapshotRules()
    allow_all: bool = False
    """`--unsafe-allow-all`: every host and port; loud, recorded, never from a file."""
    rules: tuple[Rule, ...] = field(init=False)
    """`allow_hosts` and `allow` in one shape and order."""
    by_host: Mapping[str, tuple[Rule, ...]] = field(init=False, compare=False, repr=False)
    """The same by host or wildcard, as written: a policy of ten thousand hosts is asked at every request."""

    def __post_init__(self) -> None:
        plain = (
            Rule(host=rule.host, ports=(rule.port,), name=f"allow_hosts: {rule}") for rule in self.allow_hosts
        )
        object.__setattr__(self, "rules", (*plain, *self.allow))
        by_host: dict[str, tuple[Rule, ...]] = {}
        for rule in self.rules:
            by_host[rule.host] = (*by_host.get(rule.host, ()), rule)
        object.__setattr__(self, "by_host", by_host)

    def about(self, host: str) -> tuple[Rule, ...]:
        """Return the rules that cover a canonical host: those that name it, then those of its wildcard."""
        label, dot, below = host.partition(".")
        wild = self.by_host.get(f"{WILDCARD}{below}", ()) if label and dot else ()
        return (*self.by_host.get(host, ()), *wild)
