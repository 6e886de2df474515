"""The policy as values: what may be reached, seen, written, and which credentials go where.

A `Policy` is what the operator wrote and nothing more; a `Secret` has its real value in it and is never
logged, pickled or recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from hark.policy.host import canonical_host, format_authority, split_authority

HTTPS_PORT: Final = 443
"""The port that a rule without one means."""


@dataclass(frozen=True, slots=True, order=True)
class HostRule:
    """One entry of `allow_hosts`: exactly this host on exactly this port. There is no wildcard."""

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
        return self.host == host and self.port == port

    def __str__(self) -> str:
        if self.port == HTTPS_PORT:
            return self.host
        return format_authority(self.host, self.port)


@dataclass(frozen=True, slots=True)
class SecretSpec:
    """One `[secrets.NAME]` table: where the value is found on the host, and which hosts may be sent it."""

    name: str
    """The environment variable in which the agent finds the placeholder."""
    env: str | None
    file: str | None
    hosts: tuple[HostRule, ...]

    def __str__(self) -> str:
        return f"secrets.{self.name}"


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential with its real value, for the broker alone."""

    name: str
    value: str = field(repr=False)
    placeholder: str
    hosts: tuple[HostRule, ...]

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
    unmask: tuple[str, ...] = ()
    """Names in the project (`.env`) that the agent may read although they are masked by default."""
    unprotect: tuple[str, ...] = ()
    """Names in the project (`.git/hooks`) that the agent may write although they are read-only by default."""
