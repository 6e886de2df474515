"""One client inside hark, against servers that the test made: run it, and read what the run says."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.clients.fetchers import FETCHERS
from tests.clients.kit import Client, Kit
from tests.clients.models import MODELS
from tests.clients.packages import PACKAGES
from tests.clients.talkers import GRPC, SOCKET, TALKERS
from tests.e2e.rig import Desk
from tests.fakes import models
from tests.fakes.registries import crate_index, git_host, git_repository, go_proxy, npm_registry, python_index
from tests.fakes.talking import calling, chatting
from tests.fakes.upstream import Answer, serving

CLIENTS: Final = (*FETCHERS, *TALKERS, *PACKAGES, *MODELS)
HOSTS: Final = tuple(sorted({host for client in CLIENTS for host in client.hosts}))
PATIENCE_S: Final = 100


class Routes(dict[str, Answer]):
    """As a dict, but git's repository and Gemini's models, whatever their names, go to one function each."""

    git: Answer
    gemini: Answer

    def get(self, key: str, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        """As of a dict."""
        if key.startswith("/repo.git"):
            return self.git
        return self.gemini if "/models/" in key else super().get(key, default)


@dataclass(frozen=True, slots=True)
class World:
    """Where each host of the clients is served, and the authorities that vouch for them."""

    addresses: Mapping[str, str]
    ca_pem: bytes


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """Every server that a client needs."""
    git_repository(folder)
    with serving(*HOSTS) as server, calling(GRPC) as calls, chatting(SOCKET) as chat:
        server.routes = routes = Routes()
        routes.git = git_host(folder)
        server.on("/hello")(lambda call: call.reply(200, b"hello from the real server"))
        python_index(server)
        npm_registry(server, "npm.example")
        crate_index(server, "crates.example")
        go_proxy(server)
        models.anthropic(server)
        models.openai(server)
        models.tools(server)
        routes.gemini = models.gemini
        others = {GRPC: calls.address, SOCKET: chat.address}
        addresses = dict.fromkeys(HOSTS, server.address) | others
        yield World(addresses, server.ca_pem + calls.ca + chat.ca)


def there(client: Client, kit: Kit) -> bool:
    """Tell whether the client is on this machine, where its user can execute or read it."""
    program = client.program(kit)
    return os.path.isabs(program) and os.path.exists(program)


def play(
    client: Client, kit: Kit, desk: Desk, servers: World, **assigned: str
) -> subprocess.CompletedProcess[str]:
    """Run the client's task under `hark run`; `assigned` goes into the agent's environment on top."""
    for name, text in client.files.items():
        desk.write(name, text)
    desk.env.update(client.caller)
    env = {"PYTHONPATH": f"{kit.folder}/py"} | dict(client.env) | assigned
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in env.items())
    policy = f"{client.policy}\n[env.set]\n{lines}"
    addresses = {host: servers.addresses[host] for host in client.hosts}
    options = [*desk.spread(addresses, servers.ca_pem, policy), f"-read={kit.folder}"]
    return desk.run(*options, "--", *client.task(kit), timeout=PATIENCE_S)


def version(client: Client, kit: Kit) -> str:
    """The client's version as it gives it itself, outside hark."""
    env = dict(os.environ) | {"PYTHONPATH": f"{kit.folder}/py"}
    ended = subprocess.run(client.version(kit), env=env, capture_output=True, text=True, check=False)
    words = (ended.stdout or ended.stderr).split("\n")[0].split()
    number = next((word.strip("(),v") for word in words if any(c.isdigit() for c in word)), "unknown")
    return number.removeprefix("go")
