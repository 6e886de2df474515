"""The installed `hark` as a person uses it: a project directory, a policy, and one command after another."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.upstream import Upstream
from tests.support.preload import lay
from tests.support.user import User, identity


@dataclass
class Desk:
    """One user's project directory and home; `hark` runs the program there."""

    user: User
    project: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def bundle(self) -> Path:
        """Where `run` puts the bundle."""
        return self.project.parent / "run.hark"

    def write(self, name: str, text: str | bytes) -> Path:
        """Put a file into the project, owned by the user."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if os.geteuid() == 0:
            os.chown(path, self.user.uid, self.user.gid)
        return path

    def start(self, *words: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        """Start `hark` with these words; its output is captured."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        argv = [self.user.python, "-m", "hark.cli.main", *map(str, words)]
        env = dict(self.user.env) | self.env
        return subprocess.Popen(argv, cwd=self.project, env=env, **identity(self.user), **(pipes | options))

    def hark(
        self, *words: str | Path, stdin: bytes | None = None, timeout: float = 120, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run `hark` to its end; output as text."""
        extra = options if stdin is None else options | {"stdin": subprocess.PIPE}
        with self.start(*words, **extra) as process:
            try:
                out, err = process.communicate(stdin, timeout)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(words, process.returncode, out.decode(), err.decode())

    def program(self, code: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `code`, which is to run `hark` with a part of it replaced."""
        return subprocess.run(
            [self.user.python, "-c", code, *map(str, words)],
            cwd=self.project,
            env=dict(self.user.env) | self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            **identity(self.user),
        )

    def run(self, *words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """`hark run -o bundle WORDS`."""
        return self.hark("run", "-o", self.bundle, *words, **options)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """What `hark inspect --json` says of the bundle, of these kinds or of all; fields beside the rest."""
        ended = self.hark("inspect", "--json", *(f"-kind={kind}" for kind in kinds), self.bundle)
        assert ended.returncode == 0, ended.stderr
        events = [json.loads(line) for line in ended.stdout.splitlines()]
        return [event | event["fields"] for event in events]

    def verdict(self) -> str:
        """The first line of `hark verify` on the bundle, which must hold."""
        ended = self.hark("verify", self.bundle)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout.splitlines()[0]

    def toward(self, upstream: Upstream, *hosts: str, policy: str = "") -> list[str]:
        """Options that allow `hosts` and send them to `upstream`."""
        return self.spread(dict.fromkeys(hosts, upstream.address), upstream.ca_pem, policy)

    def spread(self, addresses: Mapping[str, str], ca_pem: bytes, policy: str = "") -> list[str]:
        """Options that allow hosts and send each to an address of its own; `ca_pem` vouches for all."""
        allowed = ", ".join(f'"{host}"' for host in addresses)
        self.write("policy.toml", f"allow_hosts = [{allowed}]\n{policy}")
        ca = self.write("upstream-ca.pem", ca_pem)
        redirects = [f"-upstream={host}={address}" for host, address in addresses.items()]
        return ["-policy=policy.toml", f"-upstream-ca={ca}", *redirects]


@contextmanager
def desk(user: User, folder: Path, environ: Mapping[str, str] | None = None) -> Iterator[Desk]:
    """A fresh desk below `folder`, which the user must be able to reach; the preload is built already."""
    project = folder / "project"
    project.mkdir()
    for path in (folder, project):
        path.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(path, user.uid, user.gid)
    state = {"XDG_CONFIG_HOME": f"{folder}/config", "XDG_STATE_HOME": f"{folder}/state"}
    made = Desk(user, project, state | dict(environ or {}))
    lay(made.env, user.uid, user.gid)
    yield made


def ok(ended: subprocess.CompletedProcess[str], code: int = 0) -> subprocess.CompletedProcess[str]:
    """The same, having made sure that it ended with `code`."""
    assert ended.returncode == code, f"exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended
