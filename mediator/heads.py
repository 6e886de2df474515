"""Heads of HTTP/1 as mitmproxy reads and writes them, for the usual ones in a fraction of its calls. No IO.

Always: what comes out is what `mitmproxy.net.http.http1` makes of the same lines, and what is unusual in any
way goes through it. Messages are made without its conversions: ours are of the right types already.
"""

from typing import Final

from mitmproxy import http
from mitmproxy.net.http import http1
from mitmproxy.net.http.validate import parse_content_length

from mediator.fields import values_of
from mediator.transcript import Headers

_BODILESS: Final = (204, 304)


def fields(headers: Headers) -> http.Headers:
    """Return headers as mitmproxy holds them."""
    made = http.Headers.__new__(http.Headers)
    made.fields = headers
    return made


def request(
    method: bytes,
    path: bytes,
    headers: Headers,
    version: bytes = b"HTTP/1.1",
    *,
    host: str = "",
    port: int = 0,
    scheme: bytes = b"",
    authority: bytes = b"",
) -> http.Request:
    """Return a request without its body."""
    made = http.Request.__new__(http.Request)
    made.data = http.RequestData(
        version, fields(headers), None, None, 0, None, host, port, method, scheme, authority, path
    )
    return made


def read_request(lines: list[bytes]) -> http.Request:
    """Return the request that a head's lines say. Raises ValueError."""
    words, headers = lines[0].split(), _read(lines)
    if headers is None or len(words) != 3 or words[2] != b"HTTP/1.1" or words[1][:1] != b"/":
        read: http.Request = http1.read_request_head(lines)
        return read
    return request(words[0], words[1], headers)


def read_response(lines: list[bytes]) -> http.Response:
    """Return the answer that a head's lines say. Raises ValueError."""
    words, headers = lines[0].split(None, 2), _read(lines)
    if headers is None or len(words) < 2 or words[0] != b"HTTP/1.1" or not _is_status(words[1]):
        read: http.Response = http1.read_response_head(lines)
        return read
    made = http.Response.__new__(http.Response)
    reason = words[2] if len(words) > 2 else b""
    made.data = http.ResponseData(b"HTTP/1.1", fields(headers), None, None, 0, None, int(words[1]), reason)
    return made


def _is_status(text: bytes) -> bool:
    return len(text) == 3 and text.isdigit()


def _read(lines: list[bytes]) -> Headers | None:
    """Return the fields, None where a line is not one field."""
    read = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if not name or not colon or name[0] in b" \t":
            return None
        read.append((name, value.strip()))
    return tuple(read)


def announced(asked: http.Request) -> int | None:
    """Return the length of a request's body, None where it comes in chunks. Raises ValueError."""
    headers = asked.data.headers.fields
    if not values_of(headers, b"transfer-encoding"):
        match values_of(headers, b"content-length"):
            case []:
                return 0
            case [length] if length:
                return parse_content_length(length)
    return http1.expected_http_body_size(asked)


def answer_announced(asked: http.Request, answer: http.Response) -> int | None:
    """Return the length of an answer's body, None for chunks, -1 up to its end. Raises ValueError."""
    headers, status = answer.data.headers.fields, answer.data.status_code
    has_body = status >= 200 and status not in _BODILESS and asked.data.method in (b"GET", b"POST", b"PUT")
    if has_body and not values_of(headers, b"transfer-encoding"):
        match values_of(headers, b"content-length"):
            case []:
                return -1
            case [length] if length:
                return parse_content_length(length)
    return http1.expected_http_body_size(asked, answer)


def request_head(asked: http.Request) -> bytes:
    """Return a request's head as it is sent."""
    data = asked.data
    if data.authority or data.method.upper() == b"CONNECT":
        head: bytes = http1.assemble_request_head(asked)  # type: ignore[no-untyped-call]
        return head
    return b"%s %s %s\r\n%s\r\n" % (data.method, data.path, data.http_version, _lines(data.headers.fields))


def response_head(answer: http.Response) -> bytes:
    """Return an answer's head as it is sent."""
    data = answer.data
    return b"%s %d %s\r\n%s\r\n" % (
        data.http_version,
        data.status_code,
        data.reason,
        _lines(data.headers.fields),
    )


def _lines(headers: Headers) -> bytes:
    return b"".join([b"%s: %s\r\n" % field for field in headers])
