"""A packed file of a server that knows a credential, as curl gets it: whole and searched, or refused."""

import gzip
import io
import random
import zipfile
from collections.abc import Callable

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, serving
from tests.support.squeezing import packer

pytestmark = pytest.mark.e2e

HOST, VALUE = "files.example.test", "sk-real-5e884898da280471"
POLICY = f'[secrets.API_KEY]\nhosts = ["{HOST}"]\n'
NOISE = random.Random(7).randbytes(50_000)


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(zipfile.ZipInfo("a"), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def in_zstd(data: bytes) -> bytes:
    packing = packer(b"zstd")
    return packing.pack(data) + packing.end()


PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": in_zstd, "zip": zipped}


def curl(at: Desk, body: bytes, *options: str) -> tuple[str, dict[str, str], bytes]:
    """Fetch a file as an agent does; the status line, the head and what came behind it."""
    etag = ("ETag", f'"{len(body):x}-5f"')
    with serving(HOST) as upstream:
        upstream.routes["/file"] = lambda call: reply(call, body, etag)
        words = [*at.toward(upstream, HOST, policy=POLICY), "--", "curl", "-sS", "-D", "head", "-o", "body"]
        ok(at.run(*words, *options, f"https://{HOST}/file"))
    first, *lines = (at.project / "head").read_text().strip().split("\n\n")[-1].splitlines()
    head = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    got = (at.project / "body").read_bytes() if (at.project / "body").exists() else b""
    return first, head, got


def reply(call: Call, body: bytes, *headers: tuple[str, str]) -> None:
    call.reply(200, body, [("Content-Type", "application/octet-stream"), *headers])


@pytest.fixture(autouse=True)
def _held(rootless: Desk) -> None:
    rootless.env["API_KEY"] = VALUE


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_to_head_an_undated_file_has_no_length_and_no_tag_that_begins_with_one(rootless: Desk, version: str):
    first, head, _ = curl(rootless, zipped(NOISE), version, "--head")
    assert first.split()[1] == "200"
    assert {"content-length", "etag"} & head.keys() == set()
    assert head["content-type"] == "application/octet-stream"


def test_the_control_a_text_has_both(rootless: Desk):
    with serving(HOST) as upstream:
        upstream.routes["/file"] = lambda call: call.reply(200, b"text", [("Content-Type", "text/plain")])
        words = [
            *rootless.toward(upstream, HOST, policy=POLICY),
            "--",
            "curl",
            "-sSI",
            f"https://{HOST}/file",
        ]
        assert "content-length: 4" in ok(rootless.run(*words)).stdout.lower()


@pytest.mark.parametrize("kind", PACKED)
def test_over_http2_one_without_a_value_comes_whole_and_as_it_was(rootless: Desk, kind: str):
    packed = PACKED[kind](NOISE)
    first, head, got = curl(rootless, packed, "--http2")
    assert first.startswith("HTTP/2 200")
    assert got == packed
    assert head.get("content-length") in (None, str(len(packed)))
    assert rootless.verdict().startswith("VERIFIED")


@pytest.mark.parametrize("kind", PACKED)
def test_over_http2_one_with_a_value_is_refused_and_nothing_of_it_comes(rootless: Desk, kind: str):
    packed = PACKED[kind](NOISE + VALUE.encode())
    first, head, got = curl(rootless, packed, "--http2")
    assert first.startswith("HTTP/2 502")
    assert b"it is a packed file (gzip, zstd or zip) of a server that knows a credential" in got
    assert head["content-length"] == str(len(got))
    assert packed[:100] not in rootless.bundle.read_bytes()
