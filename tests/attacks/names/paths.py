"""Traps 18, 19: leave the paths and methods that a rule allows, by a path's spelling or on a kept connection.

The server does as many do: it decodes, takes parameters off, and resolves dot segments. It counts as reached
when what it would serve is the secret.
"""

import posixpath
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final
from unittest.mock import patch
from urllib.parse import unquote

from hark.policy.decide import Verdict, decide_request
from hark.policy.model import Rule
from hark.policy.paths import Ambiguous, Spelled
from mediator import judgement
from mediator.overriding import Meant
from tests.attacks.registry import Outcome, add, run_without
from tests.fakes.upstream import Upstream, serving
from tests.mediator.rig import API, Rig, running

PUBLIC: Final = Rule(API, name=f"allow 1: {API}", methods=("GET",), paths=("/public/**",))
SPELLINGS: Final = (
    "/public/../secret",
    "/public/..%2fsecret",
    "/public/%2e%2e/secret",
    "/public/%2e%2e%2fsecret",
    "/public/%252e%252e/secret",
    "/public/%252e%252e%252fsecret",
    "/public/..;/secret",
    "/public/..;v=1/secret",
    "/public/..%3b/secret",
    "/public/..\\secret",
    "/public/..%5csecret",
    "/public//..//..//secret",
    "/public/./../secret",
)


def _served(target: str) -> str:
    """Return what a server that resolves everything would serve."""
    path = unquote(unquote(target.partition("?")[0])).replace("\\", "/")
    plain = "/".join(segment.partition(";")[0] for segment in path.split("/"))
    return posixpath.normpath(posixpath.normpath(plain).replace("//", "/"))


@contextmanager
def _api() -> Iterator[tuple[Rig, Upstream]]:
    with (
        serving(API) as upstream,
        running(rules=(PUBLIC,), upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        yield rig, upstream


def _by_header(name: str, value: str) -> Callable[[], Outcome]:
    """Ask for what is allowed, and for what is not in a header that the server obeys."""

    def run() -> Outcome:
        with _api() as (rig, upstream), rig.https() as client:
            client.request("GET", "/public/a", headers={name: value})
            status = client.getresponse().status
            reached = any(seen.header(name) == value for seen in upstream.seen)
            return Outcome.seen(f"status {status}", succeeded=reached)

    return run


def _as_it_says(method: bytes, path: bytes, _: object) -> tuple[Meant, ...]:
    return (Meant(method.decode(), path.decode()),)


def _headers_unread() -> AbstractContextManager[object]:
    return patch.object(judgement, "meanings", _as_it_says)


def _ask(*requests: tuple[str, str]) -> Outcome:
    """Send requests over one connection; the last is the attack, and those before it are allowed."""
    with _api() as (rig, upstream), rig.https() as client:
        statuses = []
        for method, path in requests:
            client.putrequest(method, path, skip_accept_encoding=True)
            client.endheaders()
            answer = client.getresponse()
            answer.read()
            statuses.append(answer.status)
        wanted = (requests[-1][0], "/secret" if "secret" in requests[-1][1] else requests[-1][1])
        reached = any((seen.method, _served(seen.path)) == wanted for seen in upstream.seen)
        fine = all(status == 200 for status in statuses[:-1])
        return Outcome.seen(f"statuses {statuses}", succeeded=reached or not fine)


def _spelled(path: str) -> Callable[[], Outcome]:
    return lambda: _ask(("GET", path))


def _as_it_stands(target: str) -> Spelled | Ambiguous:
    return Spelled(target.partition("?")[0])


def _no_spelling() -> AbstractContextManager[object]:
    return patch("hark.policy.decide.spell", _as_it_stands)


@contextmanager
def _judged_once() -> Iterator[None]:
    """Take the verdict on the first request for all of them."""
    first: list[Verdict] = []

    def once(*asked: object, **more: object) -> Verdict:
        if not first:
            first.append(decide_request(*asked, **more))  # type: ignore[arg-type]
        return first[0]

    with patch.object(judgement, "decide_request", once):
        yield


def _other_method_later() -> Outcome:
    return _ask(("GET", "/public/a"), ("DELETE", "/public/a"))


def _other_path_later() -> Outcome:
    return _ask(("GET", "/public/a"), ("GET", "/secret"))


for spelling in SPELLINGS:
    run = _spelled(spelling)
    add(18, f"leave an allowed path as {spelling}", run, run_without(_no_spelling, run))
for what, later in (("method", _other_method_later), ("path", _other_path_later)):
    add(19, f"another {what} later on a kept connection", later, run_without(_judged_once, later))
for header, wanted in (
    ("X-HTTP-Method-Override", "DELETE"),
    ("X-HTTP-Method", "delete"),
    ("X-Method-Override", "PUT"),
    ("X-Original-URL", "/secret"),
    ("X-Rewrite-URL", "/public/../secret"),
):
    run = _by_header(header, wanted)
    add(18, f"another request in {header}: {wanted}", run, run_without(_headers_unread, run))
