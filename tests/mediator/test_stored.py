"""What an answer's head says of its body: whether it may be packed, and was there before the run."""

import pytest

from mediator.stored import may_be_packed, unmeasured, was_named, was_there

type Headers = tuple[tuple[bytes, bytes], ...]

GZIP = (b"Content-Encoding", b"gzip")
LENGTH = (b"Content-Length", b"60")
NOON = (b"Date", b"Mon, 30 Nov 2026 12:00:00 GMT")


def typed(kind: bytes) -> Headers:
    return ((b"Content-Type", kind),)


@pytest.mark.parametrize(
    "kind",
    [
        b"text/html; charset=utf-8",
        b"TEXT/EVENT-STREAM",
        b"application/json",
        b"application/problem+json; a=b",
        b"application/json-seq",
        b"application/x-ndjson",
        b"application/jsonlines",
        b"application/atom+xml",
        b"application/grpc-web+proto",
        b"application/connect+json",
        b"image/png",
    ],
)
def test_a_text_is_no_packed_file(kind: bytes) -> None:
    assert not may_be_packed(typed(kind))


@pytest.mark.parametrize(
    "kind",
    [
        b"application/gzip",
        b"application/zip",
        b"application/octet-stream",
        b"application/vnd.docker.image.rootfs.diff.tar.gzip",
        b"application/json+zip",
        b"application/jsonx",
        b"context/plain",
        b"",
    ],
)
def test_anything_else_may_be_one(kind: bytes) -> None:
    assert may_be_packed(typed(kind))


def test_so_may_what_has_no_type_or_two() -> None:
    assert may_be_packed(())
    assert may_be_packed(typed(b"text/plain") + typed(b"application/zip"))


@pytest.mark.parametrize(
    ("changed", "age", "was"),
    [
        (b"Mon, 30 Nov 2026 11:50:00 GMT", 500.0, True),
        (b"Mon, 30 Nov 2026 11:50:00 GMT", 539.0, True),
        (b"Mon, 30 Nov 2026 11:50:00 GMT", 541.0, False),
        (b"Mon, 30 Nov 2026 12:00:00 GMT", 0.0, False),
        (b"Mon, 30 Nov 2026 13:00:00 GMT", 0.0, False),
        (b"Thu, 01 Jan 1970 00:00:00 GMT", 1e6, True),
        (b"yesterday", 0.0, False),
        (b"30 Nov 2025", 0.0, False),
        (b"\xff", 0.0, False),
    ],
)
def test_what_was_there_says_so_by_its_servers_own_clock(changed: bytes, age: float, was: bool) -> None:
    assert was_there((NOON, (b"Last-Modified", changed)), age) is was


def test_without_a_date_or_with_two_nothing_was_there() -> None:
    changed = (b"Last-Modified", b"Thu, 01 Jan 1970 00:00:00 GMT")
    assert was_there((NOON, changed), 0)
    assert not was_there((changed,), 0)
    assert not was_there((NOON,), 0)
    assert not was_there((NOON, changed, changed), 0)


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ((GZIP, LENGTH, (b"A", b"b")), (GZIP, (b"A", b"b"))),
        ((GZIP, (b"Content-Length", b"0")), (GZIP, (b"Content-Length", b"0"))),
        ((LENGTH, *typed(b"application/json")), (LENGTH, *typed(b"application/json"))),
        ((LENGTH, *typed(b"application/zip")), typed(b"application/zip")),
        ((LENGTH,), ()),
        (((b"ETag", b'W/"3c-abc"'),), ()),
        (((b"ETag", b'"3C-abc"'),), ()),
        (((b"ETag", b'"sha256:abc"'),), ((b"ETag", b'"sha256:abc"'),)),
    ],
)
def test_the_length_of_what_may_be_packed_is_not_told_where_nothing_of_it_is_sent(
    headers: Headers, left: Headers
) -> None:
    assert unmeasured(headers, stored=False) == left


def test_of_what_was_stored_before_it_is_but_where_it_is_packed_on_the_way() -> None:
    zipped = (LENGTH, *typed(b"application/zip"))
    assert unmeasured(zipped, stored=True) == zipped
    assert unmeasured((*zipped, GZIP), stored=True) == (*typed(b"application/zip"), GZIP)


def test_what_was_asked_for_by_its_own_hash_was_known_to_who_asked() -> None:
    digest = b"sha256:" + b"0123456789abcdef" * 4
    said = ((b"Docker-Content-Digest", digest),)
    assert was_named(said, (b"/v2/image/blobs/" + digest,))
    assert not was_named(said, (b"/v2/image/manifests/latest",))
    assert not was_named((), (b"/v2/image/blobs/" + digest,))
    assert not was_named((*said, *said), (b"/v2/image/blobs/" + digest,))
    assert not was_named(((b"Docker-Content-Digest", b"sha256:12"),), (b"/export/sha256:12",))
