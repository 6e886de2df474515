"""Requests that ask for another method or path in a header: what obeying it would come to is judged too.

Frameworks read such headers for clients that cannot say PUT or DELETE, or behind proxies that rewrite paths.
A rule that allows GET must not let `X-HTTP-Method-Override: DELETE` through. Not done here: a method in a
form's body or query (`_method`), which some frameworks read of POST requests.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from mediator.fields import dashed
from mediator.transcript import Headers

_METHODS: Final = frozenset((b"x-http-method-override", b"x-http-method", b"x-method-override"))
_PATHS: Final = frozenset((b"x-original-url", b"x-rewrite-url"))
MAX_HEADERS: Final = 4  # of each kind; no client sends two, and every pair of them is judged


class Meant(NamedTuple):
    """A request as a server may understand it, and the header that makes it so (empty: none does)."""

    method: str
    path: str
    header: str = ""


def meanings(method: bytes, path: bytes, headers: Headers) -> tuple[Meant, ...]:
    """Return the request as it stands, then as such headers would have it; none if there are too many."""
    as_asked = Meant(method.decode("latin-1"), path.decode("latin-1"))
    methods, paths = [as_asked], [as_asked]
    for name, value in _extra(headers):
        text, header = value.decode("latin-1").strip(), name.decode("latin-1")
        if dashed(name) in _METHODS:
            methods.append(as_asked._replace(method=text.upper(), header=header))
        elif dashed(name) in _PATHS:
            paths.append(as_asked._replace(path=text, header=header))
    if len(methods) == len(paths) == 1:
        return (as_asked,)
    if max(len(methods), len(paths)) > MAX_HEADERS + 1:
        return ()
    return tuple(
        Meant(one.method, other.path, " and ".join(filter(None, (one.header, other.header))))
        for one in methods
        for other in paths
    )


def paths_of(path: bytes, headers: Headers) -> tuple[bytes, ...]:
    """Return every path that a server may take for the request's."""
    return (path, *(value.strip() for name, value in _extra(headers) if dashed(name) in _PATHS))


def overrides(name: bytes) -> bool:
    """Tell whether a header asks for another method or path."""
    return dashed(name) in _METHODS | _PATHS


def _extra(headers: Headers) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers whose names begin with an x, as every name that is looked for does."""
    return (field for field in headers if field[0][:1] in (b"x", b"X"))
