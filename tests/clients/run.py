"""One client inside hark, against servers that the test made: run it, and read what the run says."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.clients.fetchers import FETCHERS
from tests.clients.kit import Client, Kit
from tests.clients.models import MODELS
from tests.clients.packages import PACKAGES
from tests.e2e.rig import Desk
from tests.fakes import models
from tests.fakes.registries import crate_index, git_host, git_repository, go_proxy, npm_registry, python_index
from tests.fakes.upstream import Answer, Upstream, serving

CLIENTS: Final = (*FETCHERS, *PACKAGES, *MODELS)
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


@contextmanager
def world(folder: Path) -> Iterator[Upstream]:
    """Every server that a client needs, behind one address."""
    git_repository(folder)
    with serving(*HOSTS) as server:
        server.routes = routes = Routes()
        routes.git = git_host(folder)
        server.on("/hello")(lambda call: call.reply(200, b"hello from the real server"))
        python_index(server)
        npm_registry(server, "npm.example")
        crate_index(server, "crates.example")
        go_proxy(server)
        models.anthropic(server)
        models.openai(server)
        routes.gemini = models.gemini
        yield server


def there(client: Client, kit: Kit) -> bool:
    """Tell whether the client is on this machine, where its user can execute or read it."""
    program = client.program(kit)
    return os.path.isabs(program) and os.path.exists(program)


def play(
    client: Client, kit: Kit, desk: Desk, server: Upstream, **assigned: str
) -> subprocess.CompletedProcess[str]:
    """Run the client's task under `hark run`; `assigned` goes into the agent's environment on top."""
    for name, text in client.files.items():
        desk.write(name, text)
    desk.env.update(client.caller)
    env = {"PYTHONPATH": f"{kit.folder}/py"} | dict(client.env) | assigned
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in env.items())
    policy = f"{client.policy}\n[env.set]\n{lines}"
    options = [*desk.toward(server, *client.hosts, policy=policy), f"-read={kit.folder}"]
    return desk.run(*options, "--", *client.task(kit), timeout=PATIENCE_S)


def version(client: Client, kit: Kit) -> str:
    """The client's version as it gives it itself, outside hark."""
    env = dict(os.environ) | {"PYTHONPATH": f"{kit.folder}/py"}
    ended = subprocess.run(client.version(kit), env=env, capture_output=True, text=True, check=False)
    words = (ended.stdout or ended.stderr).split("\n")[0].split()
    number = next((word.strip("(),v") for word in words if any(c.isdigit() for c in word)), "unknown")
    return number.removeprefix("go")
