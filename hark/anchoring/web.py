"""One request and its answer, to servers that may be anybody's.

What always holds: an answer comes within `PATIENCE`, name resolution and slow senders included, and is at
most as large as the caller allows; no redirect is followed; certificates are those of the system's trust
store. Whatever goes wrong is an UpstreamError that names the server. Proxies are those that the environment
names.
"""

import threading
from http.client import HTTPException
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hark.errors import UpstreamError

PATIENCE: Final = 30.0  # seconds; a log of version 2 answers when its next checkpoint is out, some 10 s
MAX_ANSWER: Final = 1 << 20
MAX_REASON: Final = 200  # characters of what a server says went wrong
NO_SERVER: Final = "is no address of a server: it begins with https:// or http://"
_PIECE: Final = 1 << 16


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the address was named by the user."""


def is_server(url: str) -> bool:
    """Tell whether a text names a server that can be asked."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:  # a bracket that is not closed
        return False


def ask(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
    """GET, or POST where there is a body. An answer of any status is returned."""
    if not is_server(url):
        raise UpstreamError(f"{url} {NO_SERVER}")
    found: list[Answer | UpstreamError] = []
    thread = threading.Thread(target=_into, args=(found, url, body, headers or {}), daemon=True)
    thread.start()
    thread.join(PATIENCE)  # the thread may sleep on in a server that says nothing; it ends with the process
    if not found:
        raise UpstreamError(f"{url} did not answer within {PATIENCE:g} seconds")
    if isinstance(found[0], UpstreamError):
        raise found[0]
    return found[0]


def _into(found: list[Any], url: str, body: bytes | None, headers: dict[str, str]) -> None:
    try:
        found.append(_asked(Request(url, body, headers), url))  # noqa: S310 - http or https: `ask` looked
    except UpstreamError as error:
        found.append(error)
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        words = (reason.strerror or "") if isinstance(reason, OSError) else ""
        why = words[:1].lower() + words[1:] or str(reason) or type(error).__name__
        found.append(UpstreamError(f"cannot ask {url}: {why}; try again when this machine can reach it"))


def _asked(request: Request, url: str) -> Answer:
    try:
        response = build_opener(_NoRedirect).open(request, timeout=PATIENCE)
    except HTTPError as error:  # an answer like any other, for who asked
        response = error
    with response:
        body = b""
        while piece := response.read1(_PIECE):
            body += piece
            if len(body) > MAX_ANSWER:
                raise UpstreamError(f"{url} answered with more than {MAX_ANSWER} bytes")
        return Answer(response.status, body)


def wanted(url: str, answer: Answer) -> bytes:
    """Return the body of an answer of success. Raises UpstreamError with what the server said."""
    if answer.status not in {200, 201}:
        said = answer.body[:MAX_REASON].decode("utf-8", "replace").strip()
        raise UpstreamError(f"{url} answered with status {answer.status}{f': {said}' if said else ''}")
    return answer.body


def refuse_open(url: str, what: str) -> None:
    """Refuse to send a secret where others could read it on the way. Loopback is nobody's way."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
        raise UpstreamError(f"{url} is not https: {what} is not sent there")
