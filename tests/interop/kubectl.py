"""Kubernetes' own client, whose streams are WebSockets or, in older versions, SPDY (`Upgrade: SPDY/3.1`).

KUBECTL_INTEROP names a folder with `kubectl` and with `kube_server`, which docs/interop.md says how to build
of `kube_server.go`: a stand-in for the API, of one pod whose commands run beside it. Its SPDY is the library
of Kubernetes' own servers.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.interop.inside import Line, compared

_OVER: Final = {"": "", "over SPDY": "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false "}
_TASKS: Final = {
    "exec with input": "echo hi | {}$0 exec -i p1 -- cat",
    "exec with a code": "{}$0 exec p1 -- sh -c 'exit 7'",
    "streams apart": "{}$0 exec p1 -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null",
    "3 MB in": "head -c 3000000 /dev/zero | {}$0 exec -i p1 -- wc -c",
    "3 MB out": "{}$0 exec p1 -- head -c 3000000 /dev/zero | wc -c",
    "attached": "echo hi | {}$0 attach -i p1",
    "logs followed": "{}$0 logs -f p1",
}
CASES: Final = tuple(
    Line(f"{task} {way}".strip(), line.format(over))
    for way, over in _OVER.items()
    for task, line in _TASKS.items()
)


def answers() -> Iterator[tuple[str, str, str]]:
    """Run each line directly and inside hark."""
    named = os.environ.get("KUBECTL_INTEROP")
    if not named:
        raise SystemExit("KUBECTL_INTEROP names no folder with the programs kubectl and kube_server")
    folder = Path(named).absolute()
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen([folder / "kube_server"], stdout=subprocess.PIPE, text=True) as server,
    ):
        (Path(name) / "project").mkdir()
        try:
            if server.stdout is None:
                raise RuntimeError("the server has no output")
            port = int(server.stdout.readline())
            client = f"{folder}/kubectl --server http://{{}}"
            rule = 'upgrade = ["spdy/3.1"]\n'
            yield from compared(CASES, client, port, Path(name), rule=rule, reads=folder)
        finally:
            server.terminate()
