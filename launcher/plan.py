"""What the launcher is asked to build, as values. Nothing here touches the host.

A plan is complete: the launcher adds no grant, variable or mount that the plan (or docs/threat-model.md)
does not name, so that what is recorded about the run is what was in force.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from socket import socket
from typing import Final

from hark.policy.model import Limits
from launcher.caller import Inherited
from launcher.processors import Processors

GATEWAY_V4: Final = "10.200.1.1"
AGENT_V4: Final = "10.200.1.2"
GATEWAY_V6: Final = "fd00:6861:726b::1"
AGENT_V6: Final = "fd00:6861:726b::2"
HOSTNAME: Final = "hark"
"""What the agent sees as the host's name: the same in every run, so that replay can show it again."""


class Access(Enum):
    """What a grant lets the agent do below its path."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Grant:
    """One path that the agent may see: the host's own, at the same path inside, unless `source` says else."""

    path: str
    access: Access
    why: str
    """Where it comes from, in words the user knows: `system`, `project directory`, `-read`."""
    source: str | None = None
    """What of the host is shown at `path`, where it is not what the host has there: a copy of a project at
    the place where it was recorded. `path` need not exist on the host, and no link of the host's leads it
    elsewhere: it is where the agent finds itself."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run's boundary.

    `files` are shown read-only at these absolute paths inside, instead of what the host has there (the CA
    bundle, resolv.conf). `masked` paths exist inside as empty, unreadable files or directories.
    `protected` paths lie inside a writable grant but are shown read-only (`.git/hooks`).
    `hidden` paths are never visible whatever was granted (hark's own key, config and bundles).
    """

    argv: tuple[str, ...]
    executable: str
    """Absolute path of the program that will be executed, resolved on the host."""
    workdir: str
    env: Mapping[str, str]
    grants: tuple[Grant, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    masked: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    home: str = "/"
    """HOME inside: an empty private directory unless it is granted."""
    limits: Limits = field(default_factory=Limits)
    """Those on processes, memory and disk are the launcher's (`launcher.ceilings`)."""
    record_input: bool = False
    """Standard input and what is typed come by way of the supervisor, which records them first."""
    terminal: bool = False
    """Give the agent a private pseudo-terminal, relayed to the caller's."""
    on_terminal: tuple[int, ...] | None = None
    """The standard streams that are that terminal; None: those that are terminals of the caller's."""
    executables: tuple[str, ...] | None = None
    """Canonical paths of the files that may be executed, loaders among them; None: whatever is seen."""
    nested: bool = False
    """Let the agent make user namespaces of its own, and mounts in them: see `hark.plan.nesting`."""
    published: tuple[int, ...] = ()
    """Ports of the agent's loopback that the supervisor may connect to."""
    inherits: Inherited | None = None
    """What the agent gets of a caller's process; None: what this one has."""
    seen_as: tuple[int, int] | None = None
    """uid and gid that the agent sees itself have, where a replay shows it others than its own."""
    shim: bool = False
    """Show the page and the log of `launcher.pages`, for the shims that serve clock and randomness."""
    seed: bytes = b""
    """What random bytes of the kernel's follow from, unless namespaces nest; empty: they are its own."""
    processors: Processors | None = None
    """How many the agent is told that there are, unless namespaces nest; None: as many as it may use here."""
    fixed_addresses: bool = False
    """No address randomisation: addresses get into what programs do (OpenSSL, id(), the order of sets)."""
    wait_for_all: bool = False
    """The run lasts until every process inside has ended; otherwise the first one's end is everybody's."""


@dataclass(frozen=True, slots=True)
class Sockets:
    """Sockets opened inside the gateway namespace, owned by whoever holds this value.

    `tcp4` and `tcp6` listen; `SO_ORIGINAL_DST` (and `IP6T_SO_ORIGINAL_DST`) of an accepted socket tell the
    address the agent meant. `udp4` and `udp6` receive what the agent sent to UDP port 53 of any address; a
    reply to the sender is rewritten by the kernel to come from that address. `packets` is an AF_PACKET socket
    on the gateway's end of the veth pair: it sees the first 256 bytes of every frame from the agent but TCP
    (which the listeners see), those that nftables rejects included. Multicast listener reports (ICMPv6 type
    143) are the agent's kernel talking, not the agent. When the agent's namespace ends, a read of it may
    raise ENETDOWN once.
    """

    tcp4: socket
    tcp6: socket
    udp4: socket
    udp6: socket
    packets: socket
