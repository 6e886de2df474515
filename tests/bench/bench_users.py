"""What a user feels: the same work under `hark run` and without it, from the same server on this machine.

    python -m tests.bench.bench_users

`git clone` of this project's own history, `pip install` of 20 wheels of 200 kB, `npm ci` of 60 packages, and
`/bin/true`. Rounds alternate. Prints; asserts nothing.
"""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.bench.figures import HEAD, Figure, median
from tests.fakes.registries import git_host
from tests.fakes.upstream import Answer, Call, Upstream, serving

ROOT = Path(__file__).resolve().parents[2]
HOST = "mirror.example"
ROUNDS = 5
WHEELS = 20
WHEEL_BYTES = 200_000
PACKAGES = 60
PACKAGE_BYTES = 20_000


class _Routes(dict[str, Answer]):
    git: Answer

    def get(self, key: str, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        return self.git if key.startswith("/repo.git") else super().get(key, default)


def figures(*, quick: bool = False) -> Iterator[Figure]:
    """Measure; yields each row when it is known."""
    with tempfile.TemporaryDirectory() as name, serving(HOST, "localhost") as server:
        folder = Path(name)
        server.routes = routes = _Routes()
        subprocess.run(["git", "clone", "-q", "--bare", ROOT, folder / "repo.git"], check=True)
        routes.git = git_host(folder)
        wheels = _wheels(server)
        lock = _packages(server)
        rounds = 2 if quick else ROUNDS
        work: dict[str, tuple[Callable[[str], list[str]], Mapping[str, str]]] = {
            "git clone": (lambda at: ["git", "clone", "-q", f"{at}/repo.git", "into"], {}),
            f"pip install, {WHEELS} wheels": (lambda at: _pip(at, wheels), {}),
        }
        if shutil.which("npm"):
            work[f"npm ci, {PACKAGES} packages"] = (_npm, lock)
        for what, (words, files) in work.items():
            bare, contained = _compare(folder, server, words, files, rounds)
            yield Figure(what, f"bare {bare:.2f} s", f"{contained:.2f} s", contained / bare, "aim 1.3")
        bare, contained = _compare(folder, server, lambda _at: ["/bin/true"], {}, rounds)
        milliseconds = f"{contained * 1000:.0f} ms"
        yield Figure("`/bin/true`", f"bare {bare * 1000:.0f} ms", milliseconds, None, "aim 450 ms")


def _compare(
    folder: Path, server: Upstream, words: Callable[[str], list[str]], files: Mapping[str, str], rounds: int
) -> tuple[float, float]:
    bare, contained = [], []
    for _ in range(rounds):
        bare.append(_timed(folder, server, words(f"https://localhost:{server.port}"), files, ()))
        contained.append(_timed(folder, server, words(f"https://{HOST}"), files, _hark(folder, server)))
    return median(bare), median(contained)


def _hark(folder: Path, server: Upstream) -> tuple[str, ...]:
    (folder / "policy.toml").write_text(f'allow_hosts = ["{HOST}"]\n')
    program = str(Path(sys.executable).parent / "hark")
    options = ("-policy", f"{folder}/policy.toml", "-upstream", f"{HOST}={server.address}")
    return (program, "run", "-o", f"{folder}/run.hark", *options, "-upstream-ca", f"{folder}/ca.pem", "--")


def _timed(
    folder: Path, server: Upstream, words: list[str], files: Mapping[str, str], before: tuple[str, ...]
) -> float:
    ca = folder / "ca.pem"
    ca.write_bytes(server.ca_pem)
    (folder / "run.hark").unlink(missing_ok=True)
    trust = dict.fromkeys(("GIT_SSL_CAINFO", "PIP_CERT", "npm_config_cafile", "SSL_CERT_FILE"), str(ca))
    state = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "npm_config_cache")}
    with tempfile.TemporaryDirectory(dir=folder) as project:
        for name, text in files.items():
            (Path(project) / name).write_text(text)
        env = dict(os.environ) | state | {"npm_config_cache": f"{project}/cache"} | ({} if before else trust)
        began = time.perf_counter()
        ended = subprocess.run([*before, *words], cwd=project, env=env, capture_output=True, check=False)
        taken = time.perf_counter() - began
        if ended.returncode:
            said = ended.stderr[-2000:].decode()
            raise SystemExit(f"{' '.join(words[:3])} ended with {ended.returncode}:\n{said}")
    return taken


def _pip(at: str, wheels: list[str]) -> list[str]:
    options = ["--no-cache-dir", "--disable-pip-version-check", "--no-compile", "--target", "into"]
    return [sys.executable, "-m", "pip", "install", "-q", *options, "--index-url", f"{at}/simple/", *wheels]


def _npm(at: str) -> list[str]:
    return ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--registry", f"{at}/"]


def _give(body: bytes, kind: str = "application/octet-stream") -> Answer:
    def answer(call: Call) -> None:
        call.reply(200, body, [("Content-Type", kind)])

    return answer


def _wheels(server: Upstream) -> list[str]:
    names = [f"wheel{number}" for number in range(WHEELS)]
    for name in names:
        files = {
            f"{name}/data.bin": os.urandom(WHEEL_BYTES),
            f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
            f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        lines = [f"{path},{_digest(data)},{len(data)}" for path, data in files.items()]
        record = "\n".join([*lines, f"{name}-1.0.dist-info/RECORD,,", ""])
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, data in {**files, f"{name}-1.0.dist-info/RECORD": record.encode()}.items():
                archive.writestr(path, data)
        file = f"{name}-1.0-py3-none-any.whl"
        server.routes[f"/files/{file}"] = _give(buffer.getvalue())
        server.routes[f"/simple/{name}/"] = _give(f'<a href="/files/{file}">{file}</a>'.encode(), "text/html")
    return names


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _packages(server: Upstream) -> dict[str, str]:
    """Serve the packages; returns the project's two files."""
    wanted, entries = {}, {}
    for name in (f"package{number}" for number in range(PACKAGES)):
        buffer = io.BytesIO()
        files = {"package.json": json.dumps({"name": name, "version": "1.0.0"}).encode()}
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for path, data in {**files, "data.bin": os.urandom(PACKAGE_BYTES)}.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        tarball = buffer.getvalue()
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        server.routes[f"/{name}/-/{name}-1.0.0.tgz"] = _give(tarball)
        server.routes[f"/{name}"] = _packument(name, integrity)
        wanted[name] = "1.0.0"
        entries[f"node_modules/{name}"] = {"version": "1.0.0", "integrity": integrity}
    project = {"name": "user", "version": "1.0.0", "dependencies": wanted}
    lock = {"name": "user", "version": "1.0.0", "lockfileVersion": 3, "requires": True}
    text = json.dumps(lock | {"packages": {"": project, **entries}})
    return {"package.json": json.dumps(project), "package-lock.json": text}


def _packument(name: str, integrity: str) -> Answer:
    """Say where a package is: at the host that was asked."""

    def answer(call: Call) -> None:
        place = f"https://{call.headers['Host']}/{name}/-/{name}-1.0.0.tgz"
        version = {"name": name, "version": "1.0.0", "dist": {"tarball": place, "integrity": integrity}}
        body = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        call.reply(200, json.dumps(body).encode(), [("Content-Type", "application/json")])

    return answer


def main() -> None:
    """Print the table."""
    print(HEAD)
    for figure in figures(quick="-quick" in sys.argv):
        print(figure.row(), flush=True)


if __name__ == "__main__":
    main()
