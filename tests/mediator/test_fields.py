"""Fields of the head do not stand behind a body, nor are they taken out by `Connection`."""

import pytest

from mediator.fields import (
    connection_wrong,
    kept_by_servers,
    length,
    one_line,
    trailer_allowed,
    underscored,
    values_of,
)

FORBIDDEN = (
    "Host Connection Content-Length Transfer-Encoding Authorization Cookie Set-Cookie TE Trailer Upgrade"
)


@pytest.mark.parametrize(
    "name",
    [*FORBIDDEN.split(), "Content-Type", "Range", "a b", "", "X:Y", "Transfer_Encoding", "content_Length"],
)
def test_a_field_of_the_head_is_no_trailer(name: str) -> None:
    assert not trailer_allowed(name.encode())


@pytest.mark.parametrize("name", ["X-Sum", "grpc-status", "grpc-message", "Digest", "ETag", "Server-Timing"])
def test_the_control_a_checksum_or_status_is(name: str) -> None:
    assert trailer_allowed(name.encode())


@pytest.mark.parametrize(
    "value", ["close, Host", "HOST", "x,content-length", "a, transfer-encoding ,b", "cookie"]
)
def test_connection_takes_no_field_of_the_whole_way(value: str) -> None:
    assert connection_wrong(((b"connection", value.encode()),)) != ""
    assert connection_wrong(((b"X", b"1"), (b"Connection", b"close"), (b"Connection", value.encode()))) != ""


@pytest.mark.parametrize("value", ["close", "keep-alive", "Upgrade, HTTP2-Settings", "TE", "x-mine", ""])
def test_the_control_its_ordinary_options_are(value: str) -> None:
    assert connection_wrong(((b"Connection", value.encode()), (b"X", b"Host"))) == ""


def test_a_field_that_could_end_its_line_is_told() -> None:
    assert one_line(((b"a", b"b"),))
    for bad in (b"a\rb", b"a\nb", b"a\0b"):
        assert not one_line(((b"a", bad),))
        assert not one_line(((bad, b"a"),))


def test_the_values_of_a_field_are_found_however_its_name_is_spelled_and_in_their_order() -> None:
    headers = ((b"A-B", b"1"), (b"c", b"2"), (b"a-b", b"3"), (b"A-B-C", b"4"), (b"A_B", b"5"))
    assert values_of(headers, b"a-b") == [b"1", b"3"]
    assert values_of(headers, b"d") == []


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([b"12"], 12), ([], None), ([b"1", b"1"], None), ([b"+1"], None), ([b""], None), ([b"9" * 5000], None)],
)
def test_a_length_is_digits_said_once(values: list[bytes], wanted: int | None) -> None:
    assert length(tuple((b"Content-Length", value) for value in values)) == wanted


def test_a_field_of_the_head_with_underscores_is_told_and_others_are_not() -> None:
    assert underscored(((b"a", b"b"), (b"Transfer_Encoding", b"chunked"))) == b"Transfer_Encoding"
    assert underscored(((b"Transfer-Encoding", b"chunked"), (b"my_header", b"x"))) == b""


@pytest.mark.parametrize(
    "name", ["X-Amz-Meta-Note", "x_goog_meta_a", "Content-Disposition", "x-ms-blob-content-type"]
)
def test_what_stores_of_objects_keep_is_known(name: str) -> None:
    assert kept_by_servers(name.encode())


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "X-Amz-Security-Token", "Cookie"])
def test_the_control_where_credentials_belong_is_not_kept(name: str) -> None:
    assert not kept_by_servers(name.encode())
