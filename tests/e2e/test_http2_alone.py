"""A server that speaks HTTP/2 and nothing else is reached by programs of HTTP/1.1 inside `hark run`."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import certified_pem

pytestmark = pytest.mark.e2e

NODE = """
const [key, cert] = process.argv.slice(2).map((path) => require("fs").readFileSync(path));
const server = require("http2").createSecureServer({key, cert, allowHTTP1: false});
server.on("stream", (stream, headers) => {
  let size = 0;
  stream.on("data", (data) => { size += data.length; });
  stream.on("end", () => {
    stream.respond({":status": 200, "x-host": headers[":authority"]}, {waitForTrailers: true});
    stream.on("wantTrailers", () => stream.sendTrailers({"x-sum": String(size)}));
    stream.end(`${headers[":method"]} of ${size}`);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


@dataclass
class Alone:
    """The running server."""

    address: str
    ca_pem: bytes


@contextmanager
def serving_alone(name: str, folder: Path) -> Iterator[Alone]:
    ca_pem, key, chain = certified_pem((name,))
    for file, data in (("key.pem", key), ("cert.pem", chain), ("server.js", NODE.encode())):
        (folder / file).write_bytes(data)
    command = ["node", folder / "server.js", folder / "key.pem", folder / "cert.pem"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as node:
        try:
            assert node.stdout is not None
            yield Alone(f"127.0.0.1:{node.stdout.readline().strip()}", ca_pem)
        finally:
            node.kill()


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_reaches_it_in_either_version_with_a_body_and_trailers(
    rootless: Desk, tmp_path: Path, version: str
):
    rootless.write("up", b"x" * 300_000)
    with serving_alone("h2.example", tmp_path) as server:
        curl = ["curl", "-sS", version, "-i", "--data-binary", "@up", "https://h2.example/x"]
        ended = ok(rootless.run(*rootless.toward(server, "h2.example"), "--", *curl))
    assert "POST of 300000" in ended.stdout
    assert "x-host: h2.example" in ended.stdout
    assert "VERIFIED" in rootless.verdict()
    assert [end["status"] for end in rootless.events("LlmResponseEnd")] == [200]
    assert [t["headers"] for t in rootless.events("Trailers")] == [{"x-sum": "300000"}]
