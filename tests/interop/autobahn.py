"""Autobahn's suite itself, as `kosoku` on PyPI brings it: its case files, driven without Python 2.

AUTOBAHN names the program `kosoku`, in an environment of its own. Its fuzzing client asks an echo server,
first alone and then inside `hark run`, the whole program. What is compared is the suite's own judgement of
each case with the close code; 12 and 13 need an extension that hark agrees on with nobody, and are left out.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

CASES: Final = 301
_LEFT_OUT: Final = ("-x", "12.*", "-x", "13.*")
_HOST: Final = "ws.example.test"


def program() -> Path:
    """Return the program. Raises SystemExit where it is not named."""
    named = os.environ.get("AUTOBAHN")
    if not named:
        raise SystemExit("AUTOBAHN names no program; see docs/interop.md")
    return Path(named).absolute()


def answers() -> Iterator[tuple[str, str, str]]:
    """Run the suite directly and inside hark: some minutes."""
    with tempfile.TemporaryDirectory() as name, _echoing() as port:
        folder = Path(name)
        ask = [program(), "-p", "2", *_LEFT_OUT, "-o"]
        _run([*ask, folder / "bare", f"ws://127.0.0.1:{port}"])
        policy = f'[[allow]]\nhost = "{_HOST}"\nport = 80\nupstream = "127.0.0.1:{port}"\n'
        (folder / "policy.toml").write_text(policy)
        project = folder / "project"
        project.mkdir()
        hark = [sys.executable, "-m", "hark.cli.main", "run", "-policy", folder / "policy.toml"]
        hark += ["-o", folder / "run.hark", "-workdir", project, "-read", program().parents[1]]
        _run([*hark, "--", *ask, project / "through", f"ws://{_HOST}:80"])
        bare, through = _read(folder / "bare"), _read(project / "through")
    if len(bare) != CASES or bare.keys() != through.keys():
        raise RuntimeError(f"{len(bare)} cases without hark, and {len(through)} with it")
    for case, said in bare.items():
        yield case, said, through[case]


@contextmanager
def _echoing() -> Iterator[int]:
    def echo(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            for message in connection:
                connection.send(message)

    with serve(echo, "127.0.0.1", 0, compression=None, max_size=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.socket.getsockname()[1]


def _run(argv: list[Any]) -> None:
    # Its exit code says whether every case passed, which is for the comparison to say.
    subprocess.run(argv, check=False, capture_output=True, timeout=1200)


def _read(folder: Path) -> dict[str, str]:
    (cases,) = json.loads((folder / "index.json").read_text()).values()
    return {case: f"{said['behavior']}, close {said['remoteCloseCode']}" for case, said in cases.items()}
