"""Docker's own client and daemon, whose streams are connections that a request switched (`Upgrade: tcp`).

DOCKER_INTEROP names a folder into which Debian's packages were unpacked, as docs/interop.md says; another
`docker` in it, of any version, may replace theirs. The daemon has no network and its files in a folder of
its own. It needs root, and hark runs as root too.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.interop.inside import Line, compared
from tests.support.waiting import until

CASES: Final = (
    Line("exec with input", "echo hi | $0 exec -i c1 cat"),
    Line("exec with a code", "$0 exec c1 sh -c 'exit 7'"),
    Line("streams apart", "$0 exec c1 sh -c 'echo out; echo err >&2' 2>&1 >/dev/null"),
    Line("3 MB in", "head -c 3000000 /dev/zero | $0 exec -i c1 wc -c"),
    Line("3 MB out", "$0 exec c1 head -c 3000000 /dev/zero | wc -c"),
    Line("a terminal", "script -qec \"$0 exec -t c1 sh -c 'test -t 1 && echo one'\" /dev/null"),
    Line("run with input", "echo hi | $0 run -i --rm --network none bb cat"),
    Line("run with a code", "$0 run --rm --network none bb sh -c 'echo out; exit 3'"),
    Line("attached from the start", "$0 start -a a1"),
    Line("attached both ways", "echo hi | $0 start -ai a2"),
    Line("copied in and out", "echo x > f; $0 cp f c1:/f && $0 exec c1 cat /f && $0 cp c1:/f - | tar -tf -"),
    Line("built", "DOCKER_BUILDKIT=0 $0 build -q --network none context >/dev/null && echo yes"),
    Line("built by BuildKit", "DOCKER_BUILDKIT=1 $0 build -q --network none context >/dev/null && echo yes"),
)
_APPLETS: Final = ("sh", "cat", "echo", "head", "sleep", "wc")
_DAEMON: Final = (
    *("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"),
    *("--storage-driver=vfs", "--tls=false"),
)


def answers() -> Iterator[tuple[str, str, str]]:
    """Run each line directly and inside hark."""
    named = os.environ.get("DOCKER_INTEROP")
    if not named or os.geteuid():
        raise SystemExit("DOCKER_INTEROP names no folder, or you are not root; see docs/interop.md")
    packages = Path(named).absolute()
    with tempfile.TemporaryDirectory() as name, _daemon(packages, Path(name)) as port:
        project = Path(name) / "project"
        (project / "context").mkdir(parents=True)
        (project / "context/Dockerfile").write_text("FROM bb\nCOPY x /x\n")
        (project / "context/x").write_text("x")
        client = f"{packages}/usr/bin/docker -H tcp://{{}}"
        here = [*client.format(f"127.0.0.1:{port}").split()]
        _image(packages, Path(name) / "image", here)
        _ask(here, "run", "-d", "--network", "none", "--name", "c1", "bb", "sleep", "100000")
        _ask(here, "create", "--network", "none", "--name", "a1", "bb", "sh", "-c", "echo from it; exit 5")
        _ask(here, "create", "-i", "--network", "none", "--name", "a2", "bb", "cat")
        try:
            yield from compared(
                CASES, client, port, Path(name), rule='upgrade = ["tcp"]\n', reads=packages / "usr/bin"
            )
        finally:
            _ask(here, "rm", "-f", "c1", "a1", "a2")


@contextmanager
def _daemon(packages: Path, folder: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    places = [f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid"]
    path = f"{packages}/usr/bin:{packages}/usr/sbin:{os.environ['PATH']}"
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [packages / "usr/sbin/dockerd", *_DAEMON, *places, f"--host=tcp://127.0.0.1:{port}"],
            env=os.environ | {"PATH": path},
            stdout=log,
            stderr=log,
        ) as daemon,
    ):
        try:
            until(lambda: _listens(port), "the daemon to listen")
            yield port
        finally:
            daemon.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def _image(packages: Path, root: Path, client: list[str]) -> None:
    (root / "bin").mkdir(parents=True)
    shutil.copy(packages / "bin/busybox", root / "bin/busybox")
    for applet in _APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as archive:
        subprocess.run([*client, "import", "-", "bb"], stdin=archive.stdout, check=True, capture_output=True)


def _ask(client: list[str], *words: str) -> None:
    subprocess.run([*client, *words], check=True, capture_output=True, timeout=60)
