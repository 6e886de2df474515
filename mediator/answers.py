"""What is passed of a server's head, and hark's own answers, as mitmproxy's messages.

Always: the words behind a status are the standard's. The server's own are in no event and could carry
anything, so they are not passed.
"""

from typing import Final

from mitmproxy import http
from mitmproxy.net.http import status_codes
from mitmproxy.net.http.validate import validate_headers

from mediator import pages
from mediator.fields import one_line, trailer_allowed
from mediator.transcript import Headers

_VERSIONS: Final = ("HTTP/1.0", "HTTP/1.1", "HTTP/2.0")


def unfit(response: http.Response) -> str:
    """Say why an answer's head is not passed, or nothing."""
    if response.status_code == 101:
        return "it switched protocols unasked"
    if not 200 <= response.status_code <= 999 or response.http_version not in _VERSIONS:
        return "its status line is none of HTTP"
    return unreadable(response)


def unreadable(response: http.Response) -> str:
    """Say that an answer's headers are not passed, or nothing."""
    try:
        validate_headers(response)
    except ValueError:
        return "its headers can be read in two ways"
    return "" if one_line(response.headers.fields) else "its headers can be read in two ways"


def standardise(response: http.Response) -> None:
    """Put the standard's words in place of the server's."""
    response.reason = status_codes.RESPONSES.get(response.status_code, "")


def page(status: int, text: bytes, *, close: bool, kind: str = pages.CONTENT_TYPE) -> http.Response:
    """Return an answer of hark's own."""
    headers = {"server": pages.BY_HARK, "content-type": kind}
    if close:
        headers["connection"] = "close"
    return http.Response.make(status, text, headers)


def reframe(response: http.Response, asked: http.Request) -> None:
    """Frame an answer whose body changes on the way: in chunks, or to the connection's end for HTTP/1.0."""
    response.headers.pop("content-length", None)
    if asked.is_http2:
        return
    if asked.http_version == "HTTP/1.0":
        response.headers.pop("transfer-encoding", None)
        response.headers["connection"] = "close"
        return
    response.headers["transfer-encoding"] = "chunked"


def passed_trailers(fields: Headers) -> Headers:
    """Return what trailers or an interim head may say. The rest is dropped: the server's mistake or worse."""
    return tuple(field for field in fields if trailer_allowed(field[0]) and one_line((field,)))


def calm(message: str) -> str:
    """Return mitmproxy's words on a server without what it quotes of the server's bytes.

    Of a stream of HTTP/2 it says "by client", whichever side has reset it.
    """
    words = message.partition(":")[0].rstrip(".").lower()
    return words.replace("stream reset by client", "stream reset by the server")
