"""Files that are packed themselves are looked into: one with a value in it stops, any other passes."""

import gzip
import io
import random
import tarfile
import zipfile
import zlib
from collections.abc import Callable

import pytest

from mediator.archives import Files, Zip, kind_of
from mediator.codings import PackedError
from mediator.echo import answer_body
from mediator.held import Room
from mediator.scan import FoundError
from tests.mediator.test_echo import API_TARGET, BROKER, VALUE
from tests.support.squeezing import packer

SOME = random.Random(1).randbytes(3000)


def zipped(text: bytes, method: int = zipfile.ZIP_DEFLATED, *, seekable: bool = True) -> bytes:
    out = io.BytesIO()

    class Pipe(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            return out.write(data)  # type: ignore[arg-type]

    with zipfile.ZipFile(out if seekable else Pipe(), "w", method) as file:  # type: ignore[arg-type]
        file.writestr("a", SOME)
        file.writestr("folder/b", text)
        file.writestr("c", b"")
    return out.getvalue()


def tarball(text: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        for name, data in (("a", SOME), ("b", text)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def zstd(text: bytes) -> bytes:
    packing = packer(b"zstd")
    return packing.pack(SOME + text) + packing.end()


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "two members": lambda text: gzip.compress(SOME) + gzip.compress(text),
    "tar.gz": tarball,
    "zstd": zstd,
    "zstd behind a frame to be skipped": lambda text: b"\x53\x2a\x4d\x18\x02\0\0\0xx" + zstd(text),
    "zlib": zlib.compress,
    "zlib, best": lambda text: zlib.compress(text, 9),
    "zip": zipped,
    "zip, stored": lambda text: zipped(text, zipfile.ZIP_STORED),
    "zip, streamed": lambda text: zipped(text, seekable=False),
}


def through(data: bytes, size: int) -> bytes:
    files = Files(BROKER)
    passed = b"".join(files.feed(data[at : at + size]) for at in range(0, len(data), size))
    return passed + files.finish()


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_a_value_in_it_stops_and_the_control_passes_as_it_came(form: str, size: int) -> None:
    text = b"Authorization: Bearer %s, and more" * 3
    with pytest.raises(FoundError):
        through(FORMS[form](text.replace(b"%s", VALUE.encode())), size)
    other = FORMS[form](text.replace(b"%s", VALUE[:-1].encode() + b"X"))
    assert through(other, size) == other


@pytest.mark.parametrize(
    "body", [b"", b"P", b"PK", b"plain", b"\x1f", b"\x1f\x8b", b"PK\x03\x05 is none", b"(\xb5/"]
)
def test_what_is_no_such_file_passes(body: bytes) -> None:
    assert through(body, 1) == body
    assert kind_of(b"PK\x03\x04") == b"zip"


def changed(at: int, byte: int) -> bytes:
    data = bytearray(zipped(b"x" * 1000))
    data[at] = byte
    return bytes(data)


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b"x" * 1000)[:10] + b"\x07" * 100,
        changed(6, 1),  # encrypted
        b"PK00" + zipped(b"x" * 1000),
        b"PK\x07\x08" + zipped(b"x" * 1000),
        changed(8, 14),  # LZMA
        zipped(b"x" * 1000).replace(b"PK\x03\x04", b"no entry"[:4]).replace(b"no e", b"PK\x03\x04", 1),
        zipped(b"x" * 1000)[:31] + b"\xff" * 100,
    ],
)
def test_what_cannot_be_looked_into_does_not_pass(body: bytes) -> None:
    with pytest.raises(PackedError):
        through(body, 4096)


def test_a_stored_entry_without_a_length_before_it_is_refused() -> None:
    head = bytearray(zipped(b"x", zipfile.ZIP_STORED)[:30])
    head[6] |= 8
    with pytest.raises(PackedError):
        Zip(lambda: bytes).feed(bytes(head) + b"a")


def test_a_large_entry_says_its_length_elsewhere() -> None:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file,
        file.open("a", "w", force_zip64=True) as entry,
    ):
        entry.write(b"k=" + VALUE.encode())
    with pytest.raises(FoundError):
        through(out.getvalue(), 50)


@pytest.mark.parametrize("digest", [(), ((b"Content-MD5", b"x"),)], ids=["packed anew", "as it came"])
@pytest.mark.parametrize("form", FORMS)
def test_one_that_is_packed_once_more_on_its_way_is_looked_into_too(
    form: str, digest: tuple[tuple[bytes, bytes], ...]
) -> None:
    def passed(text: bytes, *, bound: bool = True) -> bytes:
        headers = ((b"Content-Encoding", b"gzip"), *digest)
        body = answer_body(BROKER, headers, API_TARGET, bound=bound, room=Room())
        assert body is not None
        return gzip.decompress(body.feed(gzip.compress(FORMS[form](text))) + body.finish())

    with pytest.raises(FoundError):
        passed(b"a %s b" % VALUE.encode())
    other = b"a %sX b" % VALUE[:-1].encode()
    assert passed(other) == FORMS[form](other)
    if VALUE.encode() not in FORMS[form](b"a %s b" % VALUE.encode()):  # else it is found as it stands
        assert passed(b"a %s b" % VALUE.encode(), bound=False)
