"""Which header fields may stand where: in trailers, and among the options of `Connection`. Pure.

Always: a field that says where a message goes, where it ends or who sends it stands in the head, where it
is judged; behind the body, or taken away by `Connection` on the way, it would be read by some and not by all.
"""

import re
from itertools import chain
from typing import Final

_TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
MAX_DIGITS: Final = 18  # of a length: no body has an exabyte, and Python reads no endless number
_OF_ONE_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade", b"http2-settings")
)
_OF_THE_HEAD: Final = frozenset(
    (
        b"host", b"content-length", b"transfer-encoding",  # where it goes and ends
        b"authorization", b"cookie", b"set-cookie", b"proxy-authorization", b"www-authenticate",
        b"proxy-authenticate", b"authentication-info", b"proxy-authentication-info",  # who sends it
        b"content-encoding", b"content-type", b"content-range",  # how it is read
        b"cache-control", b"expect", b"max-forwards", b"pragma", b"range", b"if-match", b"if-none-match",
        b"if-modified-since", b"if-unmodified-since", b"if-range",  # what is asked
        b"age", b"date", b"expires", b"location", b"retry-after", b"vary", b"warning",  # what is answered
        b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto",  # by whom
    )
)  # fmt: skip
"""RFC 9110, 6.5.1, and what proxies have come to act on."""

_JUDGED: Final = _OF_ONE_HOP | _OF_THE_HEAD
_STORED: Final = frozenset(
    (
        b"content-type", b"content-disposition", b"content-language", b"content-encoding", b"cache-control",
        b"expires", b"x-amz-tagging", b"x-amz-website-redirect-location", b"x-ms-tags",
    )
)  # fmt: skip
_STORED_BEGINS: Final = (
    *(b"x-amz-meta-", b"x-goog-meta-", b"x-ms-meta-", b"x-ms-blob-", b"x-object-meta-", b"x-container-meta-"),
    *(b"x-account-meta-", b"x-oss-meta-", b"x-cos-meta-", b"x-obs-meta-", b"x-bz-info-"),
)


def one_line(headers: tuple[tuple[bytes, bytes], ...]) -> bool:
    """Tell whether no field could end its line: HTTP/2 carries any byte."""
    whole = b"".join(chain.from_iterable(headers))
    return not (b"\r" in whole or b"\n" in whole or b"\0" in whole)


def values_of(headers: tuple[tuple[bytes, bytes], ...], name: bytes) -> list[bytes]:
    """Return the values of a field in their order; `name` in lower case."""
    size = len(name)
    return [value for spelled, value in headers if len(spelled) == size and spelled.lower() == name]


def named(headers: tuple[tuple[bytes, bytes], ...], names: frozenset[bytes]) -> bool:
    """Tell whether there is a field of one of these names, which are in lower case."""
    return not names.isdisjoint([spelled.lower() for spelled, _ in headers])


def length(headers: tuple[tuple[bytes, bytes], ...]) -> int | None:
    """Return what a head says of its body's length; None where it says nothing, or what is no length."""
    text = b", ".join(values_of(headers, b"content-length"))
    return int(text) if text.isdigit() and len(text) <= MAX_DIGITS else None


def trailer_allowed(name: bytes) -> bool:
    """Tell whether a field may stand behind a body."""
    return bool(_TOKEN.fullmatch(name)) and dashed(name) not in _JUDGED


def dashed(name: bytes) -> bytes:
    """Return a header's name as CGI, WSGI and their heirs read it: `_` and `-` are one to them."""
    return name.lower().replace(b"_", b"-")


def underscored(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Return the field that some servers take for one of the head and others for none, or nothing."""
    for name, _ in headers:
        if b"_" in name and dashed(name) in _JUDGED:
            return name
    return b""


def kept_by_servers(name: bytes) -> bool:
    """Tell whether stores of objects keep a field, and give it to whoever asks for the object."""
    plain = dashed(name)
    return plain in _STORED or plain.startswith(_STORED_BEGINS)


def connection_wrong(headers: tuple[tuple[bytes, bytes], ...]) -> str:
    """Return the field of the whole way that `Connection` would take out on the way, or nothing."""
    for value in values_of(headers, b"connection") + values_of(headers, b"proxy-connection"):
        for option in value.split(b","):
            if option.strip().lower() in _OF_THE_HEAD:
                return option.strip().decode()
    return ""
