"""Lines of shell as they are and inside `hark run`, the whole program, against one server."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A line of shell in which `$0` is the client, with what says where its server is."""

    name: str
    text: str


def compared(
    lines: Iterable[Line], client: str, port: int, folder: Path, *, rule: str, reads: Path
) -> Iterator[tuple[str, str, str]]:
    """Yield what each line prints and how it ends, without hark and with it.

    `client` has a `{}` for where the server is; `rule` says more of the one host that is allowed.
    """
    host, project = "server.example.test", folder / "project"
    policy = folder / "policy.toml"
    policy.write_text(f'[[allow]]\nhost = "{host}"\nport = 80\nupstream = "127.0.0.1:{port}"\n{rule}')
    run = [sys.executable, "-m", "hark.cli.main", "run", "-policy", policy, "-no-snapshot"]
    run += ["-workdir", project, "-read", reads]
    for number, line in enumerate(lines):
        bare = _ended(["sh", "-c", line.text, client.format(f"127.0.0.1:{port}")], project)
        through = [*run, "-o", folder / f"{number}.hark", "--"]
        yield line.name, bare, _ended([*through, "sh", "-c", line.text, client.format(f"{host}:80")], project)


def _ended(argv: list[Any], project: Path) -> str:
    done = subprocess.run(
        argv, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )
    return f"exit {done.returncode}, {done.stdout.strip()[:80]!r}"
