"""Package registries and a git host in small: each holds one package, `tinything` 1.0.0, made here."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.fakes.upstream import Call, Upstream

WHEEL_NAME: Final = "tinything-1.0.0-py3-none-any.whl"


def a_wheel() -> bytes:
    """A wheel whose module says `VALUE = 7`, with the record that installers check."""
    files = {
        "tinything/__init__.py": "VALUE = 7\n",
        "tinything-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0.0\n",
        "tinything-1.0.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
        f"{len(text)}"
        for name, text in files.items()
    ]
    record = "\n".join([*lines, "tinything-1.0.0.dist-info/RECORD,,", ""])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in {**files, "tinything-1.0.0.dist-info/RECORD": record}.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def python_index(server: Upstream) -> bytes:
    """Serve a simple index below /simple/; returns the wheel that is in it."""
    wheel = a_wheel()
    digest = hashlib.sha256(wheel).hexdigest()
    page = f'<!DOCTYPE html><a href="/files/{WHEEL_NAME}#sha256={digest}">{WHEEL_NAME}</a>'.encode()
    server.on("/simple/tinything/")(lambda call: call.reply(200, page, [("Content-Type", "text/html")]))
    server.on(f"/files/{WHEEL_NAME}")(lambda call: call.reply(200, wheel))
    return wheel


def npm_registry(server: Upstream, host: str) -> None:
    """Serve the packument and tarball of an npm package."""
    manifest = {"name": "tinything", "version": "1.0.0", "main": "index.js"}
    tarball = _tar({"package/package.json": json.dumps(manifest), "package/index.js": "module.exports = 7\n"})
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    shasum = hashlib.sha1(tarball, usedforsecurity=False).hexdigest()
    place = f"https://{host}/tinything/-/tinything-1.0.0.tgz"
    dist = {"tarball": place, "integrity": integrity, "shasum": shasum}
    packument = {
        "name": "tinything",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": manifest | {"dist": dist}},
        "time": {"1.0.0": "2020-01-01T00:00:00.000Z"},
    }
    body = json.dumps(packument).encode()
    server.on("/tinything")(lambda call: call.reply(200, body, [("Content-Type", "application/json")]))
    server.on("/tinything/-/tinything-1.0.0.tgz")(lambda call: call.reply(200, tarball))


def crate_index(server: Upstream, host: str) -> None:
    """Serve cargo's sparse index below /crates/, and the crate."""
    toml = '[package]\nname = "tinything"\nversion = "1.0.0"\nedition = "2021"\n'
    crate = _tar(
        {"tinything-1.0.0/Cargo.toml": toml, "tinything-1.0.0/src/lib.rs": "pub const VALUE: i32 = 7;\n"}
    )
    entry = {"name": "tinything", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False}
    entry["cksum"] = hashlib.sha256(crate).hexdigest()
    config = json.dumps({"dl": f"https://{host}/dl"}).encode()
    server.on("/crates/config.json")(lambda call: call.reply(200, config))
    server.on("/crates/ti/ny/tinything")(lambda call: call.reply(200, json.dumps(entry).encode() + b"\n"))
    server.on("/dl/tinything/1.0.0/download")(lambda call: call.reply(200, crate))


def go_proxy(server: Upstream) -> None:
    """Serve the Go module example.org/tinything by the module proxy protocol below /go/."""
    module = "example.org/tinything"
    mod = f"module {module}\n\ngo 1.21\n".encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{module}@v1.0.0/go.mod", mod)
        archive.writestr(f"{module}@v1.0.0/tiny.go", "package tinything\n\nconst Value = 7\n")
    at = f"/go/{module}/@v"
    info = b'{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}'
    for name, body in {"list": b"v1.0.0\n", "v1.0.0.info": info, "v1.0.0.mod": mod}.items():
        server.on(f"{at}/{name}")(lambda call, body=body: call.reply(200, body))  # type: ignore[misc]
    server.on(f"{at}/v1.0.0.zip")(lambda call: call.reply(200, buffer.getvalue()))


def git_repository(folder: Path) -> bytes:
    """Make the bare repository `repo.git` in `folder`, with one file `data.bin`; returns its content."""
    source = folder / "source"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main", source], check=True)
    content = os.urandom(300_000)
    (source / "data.bin").write_bytes(content)
    subprocess.run([*git, "-C", source, "add", "."], check=True)
    subprocess.run([*git, "-C", source, "commit", "-qm", "first"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", source, folder / "repo.git"], check=True)
    return content


def git_host(folder: Path) -> Callable[[Call], None]:
    """Serve the repositories in `folder` with git's own CGI program."""
    found = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True)
    program = f"{found.stdout.strip()}/git-http-backend"

    def answer(call: Call) -> None:
        path, _, query = call.path.partition("?")
        env = os.environ | {
            "GIT_PROJECT_ROOT": str(folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": call.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": call.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": call.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": call.headers.get("Git-Protocol", ""),
            "CONTENT_LENGTH": str(len(call.body)),
        }
        cgi = subprocess.run([program], input=call.body, env=env, capture_output=True, check=False)
        head, _, body = cgi.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(value[:3]) for name, value in headers if name == "Status"), 200)
        call.reply(status, body, [(n, v) for n, v in headers if n not in ("Status", "Content-Length")])

    return answer


def _tar(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()
